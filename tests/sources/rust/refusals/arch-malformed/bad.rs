use cuda_device::tile_export;

#[tile_export(tile_shape = 128, arch = ["SM-90"])]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
