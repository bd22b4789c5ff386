// Three device functions for tiles of any size: a call supplies it. The library carries the sizes that are listed.

/// Elementwise `max(x, 0)`.
[[tile_export]]
__device__ float relu_any(float x) {
    return x > 0.0f ? x : 0.0f;
}

/// Sum over the 32 lanes of each warp; every lane gets the warp total. Its own list wins over the build's.
[[tile_export(sync = "warp", tile_shapes = {64, 128})]]
__device__ float warp_sum_any(float x) {
    for (int offset = 16; offset > 0; offset /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    }
    return x;
}

/// Scale a tile in place.
[[tile_export]]
__device__ void scale_any(float& x, float factor) {
    x *= factor;
}
