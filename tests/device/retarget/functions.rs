// Exports of many kinds, written as the front end writes them: the user's function and an `extern "C"` around it.
#![allow(static_mut_refs, unused)]

macro_rules! export {
    ($name:ident($($argument:ident: $kind:ty),*) -> $result:ty $body:block) => {
        #[no_mangle]
        pub unsafe extern "C" fn $name($($argument: $kind,)* out: *mut $result) {
            fn inner($($argument: $kind),*) -> $result $body
            *out = inner($($argument),*)
        }
    };
}

// The three functions of the specification. Shuffles exist on a GPU only.
#[cfg(not(native))]
extern "C" {
    fn __tilewright_shuffle_xor_f32_sync(mask: u32, value: f32, lane: u32) -> f32;
}

#[cfg(native)]
unsafe fn __tilewright_shuffle_xor_f32_sync(_mask: u32, _value: f32, _lane: u32) -> f32 {
    panic!("shuffles exist on a GPU only")
}

export!(relu_impl(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
});

pub fn scale(x: &mut f32, factor: f32) {
    *x *= factor;
}

#[no_mangle]
pub unsafe extern "C" fn scale_in_place_impl(x: *mut f32, factor: f32) {
    scale(&mut *x, factor)
}

pub fn warp_sum(x: f32) -> f32 {
    let mut total = x;
    let mut offset = 16;
    while offset > 0 {
        total += unsafe { __tilewright_shuffle_xor_f32_sync(u32::MAX, total, offset) };
        offset /= 2;
    }
    total
}

#[no_mangle]
pub unsafe extern "C" fn warp_sum_impl(x: f32, out: *mut f32) {
    *out = warp_sum(x)
}

// A shuffle between two branches on the same condition: an optimiser without convergence copies it into both.
export!(branches_impl(x: f32, c: u32) -> f32 {
    let m = if c != 0 { x * 2.0 } else { x + 1.0 };
    let y = unsafe { __tilewright_shuffle_xor_f32_sync(u32::MAX, m, 1) };
    if c != 0 { y * 3.0 } else { y - 1.0 }
});

// Math.
export!(gelu_impl(x: f32) -> f32 {
    0.5 * x * (1.0 + (0.797_884_6 * (x + 0.044_715 * x.powi(3))).tanh())
});
export!(math32_impl(x: f32, y: f32) -> f32 {
    x.exp() + x.abs().ln() + x.sin() * y.cos() + x.abs().powf(0.5) + x.atan2(y) + x.hypot(y) + x.cbrt() + y.exp_m1()
        + y.abs().ln_1p() + x.tan() + x.sinh() + x.abs().log2() + y.exp2() + x.abs().log10()
});
export!(math64_impl(x: f64, y: f64) -> f64 {
    x.exp().mul_add(y, x.sin()) + x.abs().powf(1.5) + x.sqrt() + y.powi(5) + y.tanh() + x.atan() + y.acos() + x % y
});
export!(exact32_impl(x: f32, y: f32) -> f32 {
    x.floor() + x.ceil() + x.trunc() + x.round() + x.round_ties_even() + x.abs().sqrt() + x.mul_add(y, 1.0) + x.copysign(y)
});
export!(sign_impl(x: f32, y: f32) -> f32 {
    if x.is_nan() || y.is_nan() { 0.0 } else { -x.signum() * y.abs() + x.rem_euclid(3.0) + x % y }
});
export!(order_impl(x: f32, y: f32) -> i32 {
    x.total_cmp(&y) as i32 + x.partial_cmp(&y).map_or(50, |order| order as i32 * 10) + x.is_finite() as i32 * 100
        + x.is_subnormal() as i32 * 1000 + x.is_infinite() as i32 * 3000
});
export!(extreme_impl(x: f64, y: f64) -> f64 {
    if x == y { x } else { x.max(y) * 0.5 + x.min(y).clamp(-2.0, 2.0) }
});

#[no_mangle]
pub unsafe extern "C" fn softmax_impl(x: *mut [f32; 4]) {
    fn softmax(x: &mut [f32; 4]) {
        let most = x.iter().fold(f32::NEG_INFINITY, |a, &b| if a > b { a } else { b });
        let mut sum = 0.0;
        for v in x.iter_mut() {
            *v = (*v - most).exp();
            sum += *v;
        }
        for v in x.iter_mut() {
            *v /= sum;
        }
    }
    softmax(&mut *x)
}

// Panics.
#[no_mangle]
pub unsafe extern "C" fn pick_impl(x: *const [f32; 4], i: u32, out: *mut f32) {
    *out = (&*x)[i as usize]
}
export!(divide_impl(a: i32, b: i32) -> i32 { a / b + a % b });
export!(messages_impl(a: u32) -> u32 {
    assert!(a < 40, "{a} is too much");
    u8::try_from(a).unwrap() as u32 + Some(a).filter(|x| *x != 41).expect("not 41")
});

// Integers.
export!(hash_impl(a: u64) -> u64 {
    let mut h = a ^ 0xcbf2_9ce4_8422_2325;
    for i in 0..8 {
        h = (h.rotate_left(5) ^ (a >> (8 * i) & 255)).wrapping_mul(0x100_0000_01b3);
    }
    h ^ h.swap_bytes() ^ h.leading_zeros() as u64 ^ h.count_ones() as u64 ^ h.reverse_bits() ^ h.trailing_zeros() as u64
});
export!(mix_impl(a: i8, b: u8, c: i16, d: u16) -> i16 {
    (a.saturating_add(b as i8) as i16)
        .wrapping_mul(c)
        .max(d as i16)
        .min(1000)
        .wrapping_add(a.saturating_sub(b as i8) as i16)
        .wrapping_add(b.saturating_add(d as u8) as i16)
        .wrapping_add(b.saturating_sub(3) as i16)
        .wrapping_add(c.wrapping_abs())
        .wrapping_add(c.saturating_sub(d as i16) ^ c.saturating_add(7))
});
export!(casts_impl(a: f32, b: f64) -> u64 {
    (a as i32 as u64) ^ (a as u8 as u64) << 3 ^ (b as i8 as u64) << 7 ^ (b as u32 as u64) << 9 ^ (b as i64 as u64)
        ^ (a as u64).rotate_left(13) ^ (a as i16 as u64) << 21 ^ (b as u16 as u64) << 33
});
export!(wide_impl(a: u64, b: u64) -> u64 {
    ((a as u128 * b as u128) >> 64) as u64 ^ ((a as i64 as i128).wrapping_sub(b as i128) >> 3) as u64
});
export!(wide_division_impl(a: u64, b: u64) -> u64 {
    ((a as u128 * 12_345_678_901_234_567_890) / (b as u128 | 1)) as u64
});
export!(checked_impl(a: i32, b: i32) -> i32 {
    a.checked_mul(b).unwrap_or(-7)
        ^ a.saturating_mul(b)
        ^ a.rem_euclid(b | 1)
        ^ a.wrapping_shl(b as u32)
        ^ a.checked_pow(3).unwrap_or(2)
        ^ a.signum()
        ^ a.checked_div(b).unwrap_or(1)
        ^ a.overflowing_add(b).1 as i32
        ^ a.abs_diff(b) as i32
});
export!(compare_impl(a: i64, b: i64) -> i32 {
    a.cmp(&b) as i32 + (a as u64).cmp(&(b as u64)) as i32 * 10 + a.clamp(-5, 5) as i32 * 100
});
export!(roots_impl(a: u32) -> u32 {
    a.isqrt() + a.checked_ilog2().unwrap_or(0) + a.checked_ilog10().unwrap_or(0) + (a >> 1).next_power_of_two()
});
export!(arrays_impl(a: u64, b: u64) -> u32 {
    let x = [a, b, a ^ b, 7, 9];
    let y = [b, a, a ^ b, 7, 9];
    (x == y) as u32 + (x < y) as u32 * 2 + (a.to_be_bytes() < b.to_be_bytes()) as u32 * 4
});

// The library: iterators, sorting, patterns, tables.
#[no_mangle]
pub unsafe extern "C" fn iterate_impl(x: *const [i32; 4], out: *mut i32) {
    let x = &*x;
    let best = x.iter().zip(x.iter().rev()).map(|(a, b)| a.wrapping_mul(*b)).filter(|v| v % 2 == 0).max();
    let steps = x.windows(2).map(|w| w[0].wrapping_sub(w[1])).fold(0i32, |a, b| a.wrapping_add(b));
    *out = best.unwrap_or(-1).wrapping_add(steps).wrapping_add(x.chunks(2).count() as i32)
}
export!(sorted_impl(a: u32, b: u32, c: u32) -> u32 {
    let mut x = [a, b, c, 5, a ^ b];
    x.sort_unstable();
    x[1] ^ x.iter().position(|v| *v == b).unwrap_or(9) as u32
});

#[derive(Clone, Copy)]
enum Shape {
    Circle(f32),
    Rectangle { w: f32, h: f32 },
    Nothing,
}

export!(match_impl(k: i32, x: f32) -> f32 {
    let shape = match k {
        0 => Shape::Circle(x),
        1..=9 => Shape::Rectangle { w: x, h: k as f32 },
        _ => Shape::Nothing,
    };
    let area = match shape {
        Shape::Circle(r) => r * r,
        Shape::Rectangle { w, h } => w * h,
        Shape::Nothing => 0.0,
    };
    area + match k & 3 { 0 => 1.0, 1 => 2.5, 2 => 3.25, _ => x }
});

static TABLE: [f32; 8] = [1.0, 2.0, 3.5, 4.0, 5.0, 6.0, 7.0, 9.0];
const NAMES: [&str; 4] = ["a", "bc", "def", "ghij"];

export!(tables_impl(a: u32) -> f32 {
    let name = NAMES[(a & 3) as usize];
    TABLE[(a & 7) as usize] + name.len() as f32 + name.as_bytes()[name.len() - 1] as f32
});

#[derive(Clone, Copy)]
struct Pair {
    x: f64,
    y: u8,
}

#[no_mangle]
pub unsafe extern "C" fn structs_impl(x: *mut [f64; 4], k: u32) {
    let x = &mut *x;
    let pairs = [Pair { x: x[0], y: 1 }, Pair { x: x[1], y: 2 }, Pair { x: x[2], y: 3 }];
    let chosen = pairs[(k % 3) as usize];
    x[(k & 3) as usize] = chosen.x + chosen.y as f64;
    x.swap(0, (k >> 2 & 3) as usize);
}

// What the front end never writes but users may: function tables, trait objects, 128-bit bit counts.
fn increment(x: u32) -> u32 {
    x.wrapping_add(1)
}

fn double(x: u32) -> u32 {
    x.wrapping_mul(2)
}

trait Curve {
    fn at(&self, x: f32) -> f32;
}

struct Line(f32);
struct Square;

impl Curve for Line {
    fn at(&self, x: f32) -> f32 {
        self.0 * x
    }
}

impl Curve for Square {
    fn at(&self, x: f32) -> f32 {
        x * x
    }
}

const STEPS: [fn(u32) -> u32; 2] = [increment, double];

export!(indirect_impl(k: u32, x: f32) -> f32 {
    let line = Line(3.0);
    let curve: &dyn Curve = if k % 3 == 0 { &Square } else { &line };
    curve.at(x) + STEPS[(k & 1) as usize](k) as f32
});
export!(wide_bits_impl(a: u64, b: u64) -> u64 {
    let x = (a as u128) << 64 | b as u128;
    x.leading_zeros() as u64 ^ (x.trailing_zeros() as u64) << 8 ^ (x.count_ones() as u64) << 16 ^ x.swap_bytes() as u64
        ^ (x.swap_bytes() >> 64) as u64 ^ (x.reverse_bits() >> 9) as u64 ^ (x.saturating_add(x) >> 70) as u64
        ^ x.checked_mul(3).unwrap_or(5) as u64 ^ (x as i128).saturating_mul(3) as u64 ^ x.rotate_left(17) as u64
});

// Overflow checks at widths that libNVVM has no intrinsic for.
macro_rules! overflows {
    ($a:expr, $b:expr, $bits:ty) => {{
        let (a, b) = ($a, $b);
        let all = [a.overflowing_add(b), a.overflowing_sub(b), a.overflowing_mul(b)];
        all.iter().fold(0 as $bits, |sum, one| sum.rotate_left(5) ^ one.0 as $bits ^ (one.1 as $bits) << 3)
    }};
}
export!(narrow_overflow_impl(a: i8, b: u8, c: i8, d: u8) -> u8 {
    overflows!(a, c, u8).rotate_left(3) ^ overflows!(b, d, u8)
        ^ a.checked_mul(c).unwrap_or(99) as u8 ^ b.checked_mul(d).unwrap_or(98) ^ b.checked_add(d).unwrap_or(97)
});
export!(wide_overflow_impl(a: u64, b: u64, c: u64, d: u64) -> u64 {
    let (x, y) = ((a as u128) << 64 | b as u128, (c as u128) << 64 | d as u128);
    let z = [overflows!(x, y, u128), overflows!(x as i128, y as i128, u128), overflows!(x as i128 >> 60, y as i128 >> 66, u128),
        overflows!(x >> 61, y >> 65, u128)];
    z.iter().fold(0u64, |sum, one| sum.rotate_left(7) ^ *one as u64 ^ (*one >> 64) as u64)
});
