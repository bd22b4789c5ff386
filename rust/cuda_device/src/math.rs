//! Math that std lacks: libm's on the host, libdevice's on the GPU.

macro_rules! functions {
    ($($name:ident, $symbol:ident, $kind:ty, $words:literal;)*) => {
        unsafe extern "C" {
            $(fn $symbol(x: $kind) -> $kind;)*
        }

        $(
            #[doc = $words]
            #[inline(always)]
            pub fn $name(x: $kind) -> $kind {
                // SAFETY: a function on values alone.
                unsafe { $symbol(x) }
            }
        )*
    };
}

functions! {
    erf_f32, erff, f32, "The error function.";
    erf_f64, erf, f64, "The error function.";
    erfc_f32, erfcf, f32, "One minus the error function, exact in the tail.";
    erfc_f64, erfc, f64, "One minus the error function, exact in the tail.";
    tgamma_f32, tgammaf, f32, "The gamma function.";
    tgamma_f64, tgamma, f64, "The gamma function.";
}
