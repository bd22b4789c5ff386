use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub struct Relu;
