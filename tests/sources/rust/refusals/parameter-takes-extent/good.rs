use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
#[allow(non_snake_case)]
pub fn half(N: f32) -> f32 {
    N / 2.0
}
