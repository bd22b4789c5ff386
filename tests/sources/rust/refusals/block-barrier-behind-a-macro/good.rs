use cuda_device::tile_export;

macro_rules! wait {
    () => {
        cuda_device::warp::sync(u32::MAX)
    };
}

#[tile_export(tile_shape = 128, sync = "warp")]
pub fn pause(x: f32) -> f32 {
    wait!();
    x
}
