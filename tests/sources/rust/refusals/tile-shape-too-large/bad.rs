use cuda_device::tile_export;

#[tile_export(tile_shape = 33_554_432)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
