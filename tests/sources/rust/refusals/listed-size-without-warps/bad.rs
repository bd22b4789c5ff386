use cuda_device::tile_export;

#[tile_export(tile_shapes = [16, 64], sync = "warp")]
pub fn f(x: f32) -> f32 {
    x
}
