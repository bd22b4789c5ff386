// A library of activation functions. It knows nothing of the library it is used together with.

/// The Gaussian error linear unit of every element, `x * Phi(x)`; the tail of `erfc` keeps small results exact.
[[tile_export(tile_shape = 1024, max_ulps = 16)]]
__device__ float gelu(float x) {
    return 0.5f * x * erfcf(-x * 0.70710678118654752f);
}
