use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(x: bool) -> f32 {
    x as u8 as f32
}
