//! User code on the host: the functions stay as written, the implementations stand beside them.

use cuda_device::{math, thread, tile_export, warp};

#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    if x > 0.0 {
        x
    } else {
        0.0
    }
}

#[tile_export(tile_shape = 128, name = "scale_in_place", symbol = "scale_in_place_native")]
pub fn scale(x: &mut f32, factor: f32) {
    *x *= factor;
}

#[tile_export(name = "windows")]
#[allow(clippy::needless_lifetimes)]
fn window<'a>(bias: &'a [i32; 4], acc: &mut [i32; 4]) {
    for (sum, add) in acc.iter_mut().zip(bias) {
        *sum += add;
    }
}

#[tile_export]
fn twice(twice: &u8) -> u8 {
    twice.wrapping_mul(2)
}

#[tile_export(sync = "warp")]
fn warp_first(x: f32) -> f32 {
    warp::shuffle_f32_sync(u32::MAX, x, 0)
}

#[cfg(any())]
#[tile_export]
fn absent(x: Missing) {}

#[tile_export]
#[cfg(any())]
fn absent_too(x: Missing) {}

#[test]
fn functions_stay_as_written() {
    assert_eq!((relu(-1.0), relu(2.0)), (0.0, 2.0));
    let mut x = 3.0;
    scale(&mut x, 2.0);
    assert_eq!(x, 6.0);
}

#[test]
fn implementations_take_inputs_by_value_and_everything_else_by_pointer() {
    let (mut out, mut scaled, mut sums, mut small) = (0.0, 3.0, [1, 2, 3, 4], 0);
    unsafe {
        relu_impl(2.5, &mut out);
        scale_in_place_native(&mut scaled, 2.0);
        window_impl([10, 20, 30, 40].as_ptr(), sums.as_mut_ptr());
        twice_impl(&200, &mut small);
    }
    assert_eq!((out, scaled, sums, small), (2.5, 6.0, [11, 22, 33, 44], 144));
}

#[test]
#[should_panic(expected = "`warp::shuffle_f32_sync` exists on a GPU only")]
fn shuffles_panic_on_the_host() {
    warp_first(1.0);
}

#[test]
#[should_panic(expected = "`thread::index_x` exists on a GPU only")]
fn thread_indices_panic_on_the_host() {
    thread::index_x();
}

#[test]
fn math_is_libms_on_the_host() {
    assert!((math::erf_f32(0.5) - 0.520_499_9).abs() < 1e-6);
    assert!((math::erfc_f64(0.5) - 0.479_500_122_186_953_5).abs() < 1e-15);
}
