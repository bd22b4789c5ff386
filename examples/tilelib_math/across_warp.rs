//! Operations across the 32 lanes of a warp, each lane holding one element of the tile.

use cuda_device::{tile_export, warp};

const ALL: u32 = u32::MAX;

/// The lane that holds the largest element of its warp, the lowest such lane; NaN counts as smaller than everything.
#[tile_export(tile_shape = 128, sync = "warp")]
pub fn argmax_in_warp(x: f32) -> u32 {
    let mut value = if x.is_nan() { f32::NEG_INFINITY } else { x };
    let mut lane = warp::lane_id();
    let mut distance = 16;
    while distance > 0 {
        let other = warp::shuffle_xor_f32_sync(ALL, value, distance);
        let other_lane = warp::shuffle_xor_u32_sync(ALL, lane, distance);
        if other > value || (other == value && other_lane < lane) {
            value = other;
            lane = other_lane;
        }
        distance /= 2;
    }
    lane
}

/// The sum of the elements of this lane and all lanes below it, added up in a tree.
#[tile_export(tile_shape = 128, sync = "warp")]
pub fn prefix_sum_in_warp(x: f32) -> f32 {
    let lane = warp::lane_id();
    let mut sum = x;
    let mut distance = 1;
    while distance < warp::SIZE {
        let below = warp::shuffle_up_f32_sync(ALL, sum, distance);
        if lane >= distance {
            sum += below;
        }
        distance *= 2;
    }
    sum
}

/// How many lanes of the warp hold an element that is not zero.
#[tile_export(tile_shape = 128, sync = "warp")]
pub fn count_nonzero_in_warp(x: i32) -> u32 {
    warp::ballot(ALL, x != 0).count_ones()
}
