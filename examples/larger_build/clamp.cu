// One library of the product; its header is edited as often as it is.
#include "limits.cuh"

/// Elementwise `min(x, kHighest)`.
[[tile_export(tile_shape = 128)]] __device__ float clamp(float x) { return x < kHighest ? x : kHighest; }
