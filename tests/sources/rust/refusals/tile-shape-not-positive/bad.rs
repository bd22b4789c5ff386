use cuda_device::tile_export;

#[tile_export(tile_shape = 0)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
