use cuda_device::tile_export;

#[tile_export(tile_shape = 128, tile_shapes = [64])]
pub fn f(x: f32) -> f32 {
    x
}
