"""The functions of libdevice, by signature: what a `__nv_*` declaration in a device module may be.

One row a signature, names without the `__nv_` prefix; a test compares the rows with the toolkit's `libdevice.10.bc`.
"""

from __future__ import annotations

from difflib import get_close_matches

PREFIX = "__nv_"

_ROWS = """
double (double): acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 drcp_rd drcp_rn
    drcp_ru drcp_rz dsqrt_rd dsqrt_rn dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs floor
    j0 j1 lgamma log log10 log1p log2 logb nearbyint normcdf normcdfinv rcbrt rcp64h rint round rsqrt sin sinh sinpi
    sqrt tan tanh tgamma trunc y0 y1
double (double, double): atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd
    dmul_rn dmul_ru dmul_rz dsub_rd dsub_rn dsub_ru dsub_rz fdim fmax fmin fmod hypot nextafter pow remainder rhypot
double (double, double, double): fma fma_rd fma_rn fma_ru fma_rz norm3d rnorm3d
double (double, double, double, double): norm4d rnorm4d
double (double, double, ptr): remquo
double (double, i32): ldexp powi scalbn
double (double, ptr): frexp modf
double (i32): int2double_rn uint2double_rn
double (i32, double): jn yn
double (i32, i32): hiloint2double
double (i32, ptr): norm rnorm
double (i64): ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd ull2double_rn
    ull2double_ru ull2double_rz
double (ptr): nan
float (double): double2float_rd double2float_rn double2float_ru double2float_rz
float (float): acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif cyl_bessel_i0f cyl_bessel_i1f
    erfcf erfcinvf erfcxf erff erfinvf exp10f exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf fast_log10f
    fast_log2f fast_logf fast_sinf fast_tanf fast_tanhf floorf frcp_rd frcp_rn frcp_ru frcp_rz frsqrt_rn fsqrt_rd
    fsqrt_rn fsqrt_ru fsqrt_rz j0f j1f lgammaf log10f log1pf log2f logbf logf nearbyintf normcdff normcdfinvf rcbrtf
    rintf roundf rsqrtf saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf y0f y1f
float (float, float): atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf fdiv_rd fdiv_rn
    fdiv_ru fdiv_rz fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd fsub_rn fsub_ru fsub_rz hypotf
    nextafterf powf remainderf rhypotf
float (float, float, float): fmaf fmaf_ieee_rd fmaf_ieee_rn fmaf_ieee_ru fmaf_ieee_rz fmaf_rd fmaf_rn fmaf_ru fmaf_rz
    norm3df rnorm3df
float (float, float, float, float): norm4df rnorm4df
float (float, float, ptr): remquof
float (float, i32): ldexpf powif scalbnf
float (float, ptr): frexpf modff
float (i16): half2float
float (i32): int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd uint2float_rn
    uint2float_ru uint2float_rz uint_as_float
float (i32, float): jnf ynf
float (i32, ptr): normf rnormf
float (i64): ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru ull2float_rz
float (ptr): nanf
i16 (float): float2half_rn
i32 (double): double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd
    double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand signbitd
i32 (float): finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru
    float2uint_rz float_as_int float_as_uint ilogbf isinff isnanf signbitf
i32 (i32): abs brev clz ffs popc
i32 (i32, i32): hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd
i32 (i32, i32, i32): byte_perm sad usad
i32 (i64): clzll ffsll popcll
i64 (double): double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru
    double2ull_rz double_as_longlong llrint llround
i64 (float): float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz
    llrintf llroundf
i64 (i64): brevll llabs
i64 (i64, i64): llmax llmin mul64hi ullmax ullmin umul64hi
void (double, ptr, ptr): sincos sincospi
void (float, ptr, ptr): fast_sincosf sincosf sincospif
"""


def _signatures(rows: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows.replace("\n    ", " ").strip().splitlines():
        signature, names = row.split(":")
        found |= {PREFIX + name: signature for name in names.split()}
    return found


SIGNATURES = _signatures(_ROWS)
"""`__nv_expf` -> `float (float)`: result type and parameter types as LLVM prints them, pointers opaque."""


def nearest(name: str) -> str:
    """The libdevice name that looks most like `name`, or an empty string."""
    return next(iter(get_close_matches(name, SIGNATURES, n=1, cutoff=0.6)), "")


def is_pure(name: str) -> bool:
    """Whether the function works on values alone, so that an unused or repeated call may be dropped."""
    return "ptr" not in SIGNATURES[name]
