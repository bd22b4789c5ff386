//! The functions of libdevice that user code may declare by their own names, as the host's C library has them.

macro_rules! functions {
    ($(($($argument:ident: $kind:ty),*) -> $result:ty: $($name:ident = $libm:ident)*;)*) => { $(
        functions! { @each ($($argument: $kind),*) $result, $($name $libm)* }
    )* };
    (@each $arguments:tt $result:ty, $($name:ident $libm:ident)*) => {
        $( functions! { @one $arguments $result, $name $libm } )*
    };
    (@one ($($argument:ident: $kind:ty),*) $result:ty, $name:ident $libm:ident) => {
        #[no_mangle]
        extern "C" fn $name($($argument: $kind),*) -> $result {
            unsafe extern "C" {
                fn $libm($($argument: $kind),*) -> $result;
            }
            // SAFETY: a function on values alone.
            unsafe { $libm($($argument),*) }
        }
    };
}

functions! {
    (x: f32) -> f32:
        __nv_acosf = acosf __nv_acoshf = acoshf __nv_asinf = asinf __nv_asinhf = asinhf __nv_atanf = atanf
        __nv_atanhf = atanhf __nv_cbrtf = cbrtf __nv_ceilf = ceilf __nv_cosf = cosf __nv_coshf = coshf
        __nv_erff = erff __nv_erfcf = erfcf __nv_exp10f = exp10f __nv_exp2f = exp2f __nv_expf = expf
        __nv_expm1f = expm1f __nv_fabsf = fabsf __nv_floorf = floorf __nv_j0f = j0f __nv_j1f = j1f
        __nv_lgammaf = lgammaf __nv_log10f = log10f __nv_log1pf = log1pf __nv_log2f = log2f __nv_logbf = logbf
        __nv_logf = logf __nv_nearbyintf = nearbyintf __nv_rintf = rintf __nv_roundf = roundf __nv_sinf = sinf
        __nv_sinhf = sinhf __nv_sqrtf = sqrtf __nv_fsqrt_rn = sqrtf __nv_tanf = tanf __nv_tanhf = tanhf
        __nv_tgammaf = tgammaf __nv_truncf = truncf __nv_y0f = y0f __nv_y1f = y1f __nv_fast_expf = expf
        __nv_fast_exp10f = exp10f __nv_fast_logf = logf __nv_fast_log2f = log2f __nv_fast_log10f = log10f
        __nv_fast_sinf = sinf __nv_fast_cosf = cosf __nv_fast_tanf = tanf __nv_fast_tanhf = tanhf;
    (x: f64) -> f64:
        __nv_acos = acos __nv_acosh = acosh __nv_asin = asin __nv_asinh = asinh __nv_atan = atan __nv_atanh = atanh
        __nv_cbrt = cbrt __nv_ceil = ceil __nv_cos = cos __nv_cosh = cosh __nv_erf = erf __nv_erfc = erfc
        __nv_exp10 = exp10 __nv_exp2 = exp2 __nv_exp = exp __nv_expm1 = expm1 __nv_fabs = fabs __nv_floor = floor
        __nv_j0 = j0 __nv_j1 = j1 __nv_lgamma = lgamma __nv_log10 = log10 __nv_log1p = log1p __nv_log2 = log2
        __nv_logb = logb __nv_log = log __nv_nearbyint = nearbyint __nv_rint = rint __nv_round = round __nv_sin = sin
        __nv_sinh = sinh __nv_sqrt = sqrt __nv_dsqrt_rn = sqrt __nv_tan = tan __nv_tanh = tanh __nv_tgamma = tgamma
        __nv_trunc = trunc __nv_y0 = y0 __nv_y1 = y1;
    (x: f32, y: f32) -> f32:
        __nv_atan2f = atan2f __nv_copysignf = copysignf __nv_fdimf = fdimf __nv_fmaxf = fmaxf __nv_fminf = fminf
        __nv_fmodf = fmodf __nv_hypotf = hypotf __nv_nextafterf = nextafterf __nv_powf = powf
        __nv_fast_powf = powf __nv_remainderf = remainderf;
    (x: f64, y: f64) -> f64:
        __nv_atan2 = atan2 __nv_copysign = copysign __nv_fdim = fdim __nv_fmax = fmax __nv_fmin = fmin
        __nv_fmod = fmod __nv_hypot = hypot __nv_nextafter = nextafter __nv_pow = pow __nv_remainder = remainder;
    (x: f32, n: i32) -> f32: __nv_ldexpf = ldexpf __nv_scalbnf = scalbnf;
    (x: f64, n: i32) -> f64: __nv_ldexp = ldexp __nv_scalbn = scalbn;
    (x: f32, y: f32, z: f32) -> f32: __nv_fmaf = fmaf __nv_fmaf_rn = fmaf;
    (x: f64, y: f64, z: f64) -> f64: __nv_fma = fma __nv_fma_rn = fma;
}

#[no_mangle]
extern "C" fn __nv_rsqrtf(x: f32) -> f32 {
    (1.0 / f64::from(x).sqrt()) as f32
}

#[no_mangle]
extern "C" fn __nv_rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

#[no_mangle]
extern "C" fn __nv_saturatef(x: f32) -> f32 {
    if x > 0.0 {
        x.min(1.0)
    } else {
        0.0
    }
}

#[no_mangle]
extern "C" fn __nv_powif(x: f32, n: i32) -> f32 {
    x.powi(n)
}

#[no_mangle]
extern "C" fn __nv_powi(x: f64, n: i32) -> f64 {
    x.powi(n)
}
