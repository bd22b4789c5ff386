// Three device functions exported to tile kernels. They stay ordinary CUDA C++: other device code may call them.

/// Elementwise `max(x, 0)`.
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    return x > 0.0f ? x : 0.0f;
}

/// Scale a tile in place. Tile kernels know it as `scale_in_place`.
[[tile_export(tile_shape = 128, name = "scale_in_place", symbol = "scale_in_place_impl")]]
__device__ void scale(float& x, float factor) {
    x *= factor;
}

/// Sum over the 32 lanes of each warp; every lane gets the warp total.
[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float warp_sum(float x) {
    for (int offset = 16; offset > 0; offset /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    }
    return x;
}
