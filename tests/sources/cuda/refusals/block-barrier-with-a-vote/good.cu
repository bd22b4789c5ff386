[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float relu(float x) {
    return __any_sync(0xffffffffu, x > 0.0f) ? x : 0.0f;
}
