use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn nothing(x: &mut f32, y: f32) {
    let _ = (x, y);
}
