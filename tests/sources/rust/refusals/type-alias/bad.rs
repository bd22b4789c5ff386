use cuda_device::tile_export;

type Real = f32;

#[tile_export(tile_shape = 128)]
pub fn first(x: Real) -> f32 {
    x
}
