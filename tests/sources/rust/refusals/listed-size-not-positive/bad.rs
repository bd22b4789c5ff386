use cuda_device::tile_export;

#[tile_export(tile_shapes = [64, 0])]
pub fn f(x: f32) -> f32 {
    x
}
