[[tile_export(tile_shape = 128)]]
__device__ bool positive(float x) { return x > 0.0f; }
