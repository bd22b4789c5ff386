//! Functions that tile kernels often lack: activations, quantisation to bytes, and operations across a warp.

use cuda_device::{math, tile_export};

mod across_warp;

/// The exact Gaussian error linear unit, `x / 2 * (1 + erf(x / sqrt 2))`; the tail of `erfc` keeps small results exact.
#[tile_export(tile_shape = 128, max_ulps = 16)]
pub fn gelu(x: f32) -> f32 {
    0.5 * x * math::erfc_f32(-x * core::f32::consts::FRAC_1_SQRT_2)
}

/// The sigmoid linear unit, `x / (1 + exp(-x))`.
#[tile_export(tile_shape = 128, max_ulps = 8)]
pub fn silu(x: f32) -> f32 {
    x / (1.0 + (-x).exp())
}

/// `ln(1 + exp(x))`, without overflow for large `x`.
#[tile_export(tile_shape = 128, max_ulps = 8)]
pub fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The error function.
#[tile_export(tile_shape = 128)]
pub fn erf(x: f32) -> f32 {
    math::erf_f32(x)
}

/// `x` held between `low` and `high`; NaN stays NaN. With `low` above `high` the result is `high`.
#[tile_export(tile_shape = 128)]
pub fn clamp(x: f32, low: f32, high: f32) -> f32 {
    let above = if x < low { low } else { x };
    if above > high { high } else { above }
}

/// `x / scale` as the nearest byte, ties to even, saturating; NaN becomes 0.
#[tile_export(tile_shape = 128)]
pub fn quantise(x: f32, scale: f32) -> i8 {
    (x / scale).round_ties_even() as i8
}

/// The number a byte stands for, `q * scale`.
#[tile_export(tile_shape = 128)]
pub fn dequantise(q: i8, scale: f32) -> f32 {
    q as f32 * scale
}

/// Four neighbours made to add up to one, each the exponential of its distance to the largest.
#[tile_export(tile_shape = 128, max_ulps = 8)]
pub fn softmax4(x: &mut [f32; 4]) {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in x.iter_mut() {
        *value = (*value - largest).exp();
        sum += *value;
    }
    for value in x.iter_mut() {
        *value /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_went() {
        for q in i8::MIN..=i8::MAX {
            assert_eq!(quantise(dequantise(q, 0.25), 0.25), q);
        }
    }

    #[test]
    fn clamping_keeps_nan() {
        assert!(clamp(f32::NAN, 0.0, 1.0).is_nan());
        assert_eq!(clamp(-3.0, 0.0, 1.0), 0.0);
        assert_eq!(clamp(3.0, 0.0, 1.0), 1.0);
    }
}
