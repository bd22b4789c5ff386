use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn add(b: f32, a: &mut f32) -> f32 {
    *a + b
}
