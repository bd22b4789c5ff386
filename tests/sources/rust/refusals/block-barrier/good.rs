use cuda_device::tile_export;

#[tile_export(tile_shape = 128, sync = "warp")]
pub fn wait(x: f32) -> f32 {
    cuda_device::warp::sync(u32::MAX);
    x
}
