use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn wait(x: f32) -> f32 {
    thread::sync_threads();
    x
}
