use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn sum(x: f32) -> f32 {
    let tile = [x; 4];
    tile[0] + tile[3]
}
