use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}

#[tile_export(tile_shape = 128, name = "doubled")]
pub fn twice(x: f32) -> f32 {
    x * 2.0
}
