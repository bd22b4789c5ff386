use cuda_device::tile_export;

#[tile_export(tile_shape = 16_777_216)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
