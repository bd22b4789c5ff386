use cuda_device::tile_export;

#[derive(Clone, Copy)]
pub struct Pair {
    a: f32,
}

#[tile_export(tile_shape = 128)]
pub fn first(x: f32) -> f32 {
    Pair { a: x }.a
}
