use cuda_device::tile_export;

pub fn outer(x: f32) -> f32 {
    #[tile_export(tile_shape = 128)]
    fn inner(x: f32) -> f32 {
        x
    }
    inner(x)
}
