use cuda_device::tile_export;

const CALLS: u32 = 0;

#[tile_export(tile_shape = 128)]
pub fn count(x: u32) -> u32 {
    CALLS + x
}
