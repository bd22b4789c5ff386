use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub async fn same(x: f32) -> f32 {
    x
}
