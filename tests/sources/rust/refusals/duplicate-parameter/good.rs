use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn add(a: f32, b: f32) -> f32 {
    a + b
}
