use cuda_device::tile_export;

const LANES: usize = 1;

#[tile_export(tile_shape = 128)]
pub fn first(x: &[f32; LANES]) -> f32 {
    x[0]
}
