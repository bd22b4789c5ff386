use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn pair(x: &[f32; 2], out: &mut [f32; 2]) {
    *out = *x;
}
