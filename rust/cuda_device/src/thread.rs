//! Where a thread stands in its block and grid. On the host every function here panics.
//!
//! In an export these are the values of the tile kernel's own launch, which the tile compiler chooses: which thread
//! gets which invocation is no promise.

use crate::device::*;

macro_rules! registers {
    ($($name:ident, $symbol:ident, $words:literal;)*) => {
        $(
            #[doc = $words]
            #[inline(always)]
            #[cfg_attr(not(tilewright_device), track_caller)]
            pub fn $name() -> u32 {
                // SAFETY: reads a register.
                unsafe { $symbol() }
            }
        )*
    };
}

registers! {
    index_x, __tilewright_thread_index_x, "The thread's index in its block, x.";
    index_y, __tilewright_thread_index_y, "The thread's index in its block, y.";
    index_z, __tilewright_thread_index_z, "The thread's index in its block, z.";
    block_index_x, __tilewright_block_index_x, "The block's index in the grid, x.";
    block_index_y, __tilewright_block_index_y, "The block's index in the grid, y.";
    block_index_z, __tilewright_block_index_z, "The block's index in the grid, z.";
    block_dim_x, __tilewright_block_dim_x, "Threads in the block along x.";
    block_dim_y, __tilewright_block_dim_y, "Threads in the block along y.";
    block_dim_z, __tilewright_block_dim_z, "Threads in the block along z.";
}
