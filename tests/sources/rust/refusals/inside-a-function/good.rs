use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn outer(x: f32) -> f32 {
    fn inner(x: f32) -> f32 {
        x
    }
    inner(x)
}
