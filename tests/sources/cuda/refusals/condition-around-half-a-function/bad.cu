[[tile_export(tile_shape = 128)]]
#ifdef WIDE
__device__ double relu(double x) {
#else
__device__ float relu(float x) {
#endif
    return x > 0 ? x : 0;
}
