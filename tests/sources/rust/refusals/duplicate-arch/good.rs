use cuda_device::tile_export;

#[tile_export(tile_shape = 128, arch = ["sm_90", "sm_120a"])]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
