//! Traffic between the 32 lanes of a warp. An export that uses it says `sync = "warp"`.
//!
//! `mask` names the lanes that take part, one bit a lane; every lane named must call the same operation. In an export
//! that is `u32::MAX`. On the host every function here panics.

use crate::device::*;

/// The lanes of a warp.
pub const SIZE: u32 = 32;

macro_rules! shuffles {
    ($($name:ident, $symbol:ident, $kind:ty, $lane:ident, $words:literal;)*) => {
        $(
            #[doc = $words]
            #[inline(always)]
            #[cfg_attr(not(tilewright_device), track_caller)]
            pub fn $name(mask: u32, value: $kind, $lane: u32) -> $kind {
                // SAFETY: the operation reads and writes registers only.
                unsafe { $symbol(mask, value, $lane) }
            }
        )*
    };
}

shuffles! {
    shuffle_xor_f32_sync, __tilewright_shuffle_xor_f32_sync, f32, lane_mask, "The value of the lane whose number is this lane's xor `lane_mask`.";
    shuffle_xor_i32_sync, __tilewright_shuffle_xor_i32_sync, i32, lane_mask, "The value of the lane whose number is this lane's xor `lane_mask`.";
    shuffle_xor_u32_sync, __tilewright_shuffle_xor_u32_sync, u32, lane_mask, "The value of the lane whose number is this lane's xor `lane_mask`.";
    shuffle_up_f32_sync, __tilewright_shuffle_up_f32_sync, f32, delta, "The value of the lane `delta` below; the lowest `delta` lanes keep their own.";
    shuffle_up_i32_sync, __tilewright_shuffle_up_i32_sync, i32, delta, "The value of the lane `delta` below; the lowest `delta` lanes keep their own.";
    shuffle_up_u32_sync, __tilewright_shuffle_up_u32_sync, u32, delta, "The value of the lane `delta` below; the lowest `delta` lanes keep their own.";
    shuffle_down_f32_sync, __tilewright_shuffle_down_f32_sync, f32, delta, "The value of the lane `delta` above; the highest `delta` lanes keep their own.";
    shuffle_down_i32_sync, __tilewright_shuffle_down_i32_sync, i32, delta, "The value of the lane `delta` above; the highest `delta` lanes keep their own.";
    shuffle_down_u32_sync, __tilewright_shuffle_down_u32_sync, u32, delta, "The value of the lane `delta` above; the highest `delta` lanes keep their own.";
    shuffle_f32_sync, __tilewright_shuffle_idx_f32_sync, f32, lane, "The value of lane `lane`, modulo 32.";
    shuffle_i32_sync, __tilewright_shuffle_idx_i32_sync, i32, lane, "The value of lane `lane`, modulo 32.";
    shuffle_u32_sync, __tilewright_shuffle_idx_u32_sync, u32, lane, "The value of lane `lane`, modulo 32.";
}

/// This lane's number, 0 to 31.
#[inline(always)]
#[cfg_attr(not(tilewright_device), track_caller)]
pub fn lane_id() -> u32 {
    // SAFETY: reads a register.
    unsafe { __tilewright_lane_id() }
}

/// One bit a lane: whether its predicate holds.
#[inline(always)]
#[cfg_attr(not(tilewright_device), track_caller)]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: reads and writes registers only.
    unsafe { __tilewright_ballot_sync(mask, predicate as u32) }
}

/// Whether the predicate of any lane holds.
#[inline(always)]
#[cfg_attr(not(tilewright_device), track_caller)]
pub fn any(mask: u32, predicate: bool) -> bool {
    // SAFETY: reads and writes registers only.
    unsafe { __tilewright_any_sync(mask, predicate as u32) != 0 }
}

/// Whether the predicates of all lanes hold.
#[inline(always)]
#[cfg_attr(not(tilewright_device), track_caller)]
pub fn all(mask: u32, predicate: bool) -> bool {
    // SAFETY: reads and writes registers only.
    unsafe { __tilewright_all_sync(mask, predicate as u32) != 0 }
}

/// Waits for the lanes of the mask.
#[inline(always)]
#[cfg_attr(not(tilewright_device), track_caller)]
pub fn sync(mask: u32) {
    // SAFETY: touches no memory.
    unsafe { __tilewright_warp_sync(mask) }
}
