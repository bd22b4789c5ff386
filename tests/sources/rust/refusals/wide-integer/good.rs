use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(x: u64) -> f32 {
    x as f32
}
