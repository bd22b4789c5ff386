//! The operations of the GPU: declarations for the device compiler, panics for the host, emulated for the oracle.

/// One line an operation: its private symbol, what it is called in messages, its signature.
macro_rules! operations {
    ($($symbol:ident is $shown:literal: ($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        #[cfg(tilewright_device)]
        unsafe extern "C" {
            $(pub fn $symbol($($argument: $kind),*) $(-> $result)?;)*
        }

        $(
            #[cfg(tilewright_oracle)]
            #[track_caller]
            pub unsafe fn $symbol($($argument: $kind),*) $(-> $result)? {
                use crate::oracle::warp::{operation, Word};
                Word::of(operation($shown, &[$(Word::word($argument)),*]))
            }
        )*

        $(
            #[cfg(not(any(tilewright_device, tilewright_oracle)))]
            #[track_caller]
            pub unsafe fn $symbol($($argument: $kind),*) $(-> $result)? {
                $(let _ = $argument;)*
                panic!(concat!("`", $shown, "` exists on a GPU only"))
            }
        )*
    };
}

operations! {
    __tilewright_shuffle_xor_f32_sync is "warp::shuffle_xor_f32_sync": (mask: u32, value: f32, lane: u32) -> f32;
    __tilewright_shuffle_xor_i32_sync is "warp::shuffle_xor_i32_sync": (mask: u32, value: i32, lane: u32) -> i32;
    __tilewright_shuffle_xor_u32_sync is "warp::shuffle_xor_u32_sync": (mask: u32, value: u32, lane: u32) -> u32;
    __tilewright_shuffle_up_f32_sync is "warp::shuffle_up_f32_sync": (mask: u32, value: f32, lane: u32) -> f32;
    __tilewright_shuffle_up_i32_sync is "warp::shuffle_up_i32_sync": (mask: u32, value: i32, lane: u32) -> i32;
    __tilewright_shuffle_up_u32_sync is "warp::shuffle_up_u32_sync": (mask: u32, value: u32, lane: u32) -> u32;
    __tilewright_shuffle_down_f32_sync is "warp::shuffle_down_f32_sync": (mask: u32, value: f32, lane: u32) -> f32;
    __tilewright_shuffle_down_i32_sync is "warp::shuffle_down_i32_sync": (mask: u32, value: i32, lane: u32) -> i32;
    __tilewright_shuffle_down_u32_sync is "warp::shuffle_down_u32_sync": (mask: u32, value: u32, lane: u32) -> u32;
    __tilewright_shuffle_idx_f32_sync is "warp::shuffle_f32_sync": (mask: u32, value: f32, lane: u32) -> f32;
    __tilewright_shuffle_idx_i32_sync is "warp::shuffle_i32_sync": (mask: u32, value: i32, lane: u32) -> i32;
    __tilewright_shuffle_idx_u32_sync is "warp::shuffle_u32_sync": (mask: u32, value: u32, lane: u32) -> u32;
    __tilewright_ballot_sync is "warp::ballot": (mask: u32, predicate: u32) -> u32;
    __tilewright_any_sync is "warp::any": (mask: u32, predicate: u32) -> u32;
    __tilewright_all_sync is "warp::all": (mask: u32, predicate: u32) -> u32;
    __tilewright_warp_sync is "warp::sync": (mask: u32);
    __tilewright_lane_id is "warp::lane_id": () -> u32;
    __tilewright_thread_index_x is "thread::index_x": () -> u32;
    __tilewright_thread_index_y is "thread::index_y": () -> u32;
    __tilewright_thread_index_z is "thread::index_z": () -> u32;
    __tilewright_block_index_x is "thread::block_index_x": () -> u32;
    __tilewright_block_index_y is "thread::block_index_y": () -> u32;
    __tilewright_block_index_z is "thread::block_index_z": () -> u32;
    __tilewright_block_dim_x is "thread::block_dim_x": () -> u32;
    __tilewright_block_dim_y is "thread::block_dim_y": () -> u32;
    __tilewright_block_dim_z is "thread::block_dim_z": () -> u32;
}
