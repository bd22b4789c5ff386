use cuda_device::tile_export;

static mut CALLS: u32 = 0;

fn called(x: u32) -> u32 {
    unsafe {
        CALLS += x;
        CALLS
    }
}

#[tile_export(tile_shape = 128)]
pub fn count(x: u32) -> u32 {
    called(x)
}
