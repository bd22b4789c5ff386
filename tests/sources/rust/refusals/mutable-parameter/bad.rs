use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(mut x: f32) -> f32 {
    x += 1.0;
    x
}
