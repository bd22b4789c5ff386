use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(x: &[f32; 1]) -> f32 {
    x[0]
}
