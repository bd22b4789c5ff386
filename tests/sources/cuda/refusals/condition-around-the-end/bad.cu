[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
#ifdef FAST
    return x;
}
#else
    return x > 0 ? x : 0;
}
#endif
