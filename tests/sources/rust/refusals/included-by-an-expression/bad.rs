use cuda_device::tile_export;

include!(concat!("a", ".rs"));

#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
