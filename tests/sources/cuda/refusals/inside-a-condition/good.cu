[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
#ifdef FAST
    return __saturatef(x);
#else
    return x > 0.0f ? x : 0.0f;
#endif
}
