[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
#ifdef WIDE
    return x > 1.0f ? x : 1.0f;
#else
    return x > 0.0f ? x : 0.0f;
#endif
}
