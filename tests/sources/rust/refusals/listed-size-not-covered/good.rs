use cuda_device::tile_export;

#[tile_export(tile_shapes = [64, 4])]
pub fn f(x: &mut [f32; 4]) {
    x[0] += x[1];
}
