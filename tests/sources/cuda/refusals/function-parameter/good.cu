[[tile_export(tile_shape = 128)]]
__device__ float apply(float f, float x) { return x; }
