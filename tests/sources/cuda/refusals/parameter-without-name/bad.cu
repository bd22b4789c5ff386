[[tile_export(tile_shape = 128)]]
__device__ float zero(float) { return 0.0f; }
