[[tile_export(tile_shape = 128)]]
__device__ float first(const float *x) { return 0.0f; }
