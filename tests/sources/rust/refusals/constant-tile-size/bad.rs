use cuda_device::tile_export;

const TILE: usize = 128;

#[tile_export(tile_shape = TILE)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
