// libdevice's names on the host, bound to what native Rust code calls for the same method: libm, or compiler-builtins.

macro_rules! unary {
    ($($single:ident $double:ident $method:ident),* $(,)?) => { $(
        #[no_mangle]
        pub extern "C" fn $single(x: f32) -> f32 { x.$method() }
        #[no_mangle]
        pub extern "C" fn $double(x: f64) -> f64 { x.$method() }
    )* };
}

macro_rules! binary {
    ($($single:ident $double:ident $method:ident),* $(,)?) => { $(
        #[no_mangle]
        pub extern "C" fn $single(x: f32, y: f32) -> f32 { x.$method(y) }
        #[no_mangle]
        pub extern "C" fn $double(x: f64, y: f64) -> f64 { x.$method(y) }
    )* };
}

unary! {
    __nv_expf __nv_exp exp, __nv_exp2f __nv_exp2 exp2, __nv_expm1f __nv_expm1 exp_m1,
    __nv_logf __nv_log ln, __nv_log2f __nv_log2 log2, __nv_log10f __nv_log10 log10, __nv_log1pf __nv_log1p ln_1p,
    __nv_sinf __nv_sin sin, __nv_cosf __nv_cos cos, __nv_tanf __nv_tan tan,
    __nv_asinf __nv_asin asin, __nv_acosf __nv_acos acos, __nv_atanf __nv_atan atan,
    __nv_sinhf __nv_sinh sinh, __nv_coshf __nv_cosh cosh, __nv_tanhf __nv_tanh tanh,
    __nv_cbrtf __nv_cbrt cbrt, __nv_fabsf __nv_fabs abs, __nv_roundf __nv_round round,
    __nv_rintf __nv_rint round_ties_even, __nv_nearbyintf __nv_nearbyint round_ties_even,
}

binary! {
    __nv_powf __nv_pow powf, __nv_atan2f __nv_atan2 atan2, __nv_hypotf __nv_hypot hypot,
}

macro_rules! other {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty { $body:expr })*) => { $(
        #[no_mangle]
        pub extern "C" fn $name($($argument: $kind),*) -> $result { $body }
    )* };
}

other! {
    __nv_fmodf(x: f32, y: f32) -> f32 { x % y }
    __nv_fmod(x: f64, y: f64) -> f64 { x % y }
    __nv_powif(x: f32, n: i32) -> f32 { x.powi(n) }
    __nv_powi(x: f64, n: i32) -> f64 { x.powi(n) }
}
