use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(_: f32) -> f32 {
    1.0
}
