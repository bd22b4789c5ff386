use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(x: f32) -> f32 {
    let mut x = x;
    x += 1.0;
    x
}
