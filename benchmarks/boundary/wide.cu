// The same function as in tilelib_relu for a larger tile.

/// Elementwise `max(x, 0)`.
[[tile_export(tile_shape = 1024)]]
__device__ float relu_1024(float x) {
    return x > 0.0f ? x : 0.0f;
}
