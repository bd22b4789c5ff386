use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn same(x: f32) -> f32 {
    x
}
