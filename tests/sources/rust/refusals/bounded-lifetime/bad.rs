use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first<'a, 'b: 'a>(x: &'a f32, y: &'b f32) -> f32 {
    *x + *y
}
