use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(#[cfg(windows)] x: f32, y: f32) -> f32 {
    y
}
