// A library of activation functions. It knows nothing of the library it is used together with.

/// The Gaussian error linear unit of every element, by the error function: `x * Phi(x)`.
[[tile_export(tile_shape = 1024)]]
__device__ float gelu(float x) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
}
