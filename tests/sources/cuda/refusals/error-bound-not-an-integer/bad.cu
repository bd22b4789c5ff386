[[tile_export(tile_shape = 128, max_ulps = 0.5)]]
__device__ float root(float x) { return rsqrtf(x); }
