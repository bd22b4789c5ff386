use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn first(x: *const f32) -> f32 {
    unsafe { *x }
}
