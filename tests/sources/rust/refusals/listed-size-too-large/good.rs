use cuda_device::tile_export;

#[tile_export(tile_shapes = [64, 16777216])]
pub fn f(x: f32) -> f32 {
    x
}
