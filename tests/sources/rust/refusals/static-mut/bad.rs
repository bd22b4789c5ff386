use cuda_device::tile_export;

static mut CALLS: u32 = 0;

#[tile_export(tile_shape = 128)]
pub fn count(x: u32) -> u32 {
    unsafe {
        CALLS += x;
        CALLS
    }
}
