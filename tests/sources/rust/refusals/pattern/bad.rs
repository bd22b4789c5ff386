use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first([x, y]: &[f32; 2]) -> f32 {
    x + y
}
