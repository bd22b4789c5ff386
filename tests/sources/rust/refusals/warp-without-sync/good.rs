use cuda_device::tile_export;

use cuda_device::warp;

fn neighbour(x: f32) -> f32 {
    warp::shuffle_xor_f32_sync(u32::MAX, x, 1)
}

#[tile_export(tile_shape = 128, sync = "warp")]
pub fn pair(x: f32) -> f32 {
    x + neighbour(x)
}
