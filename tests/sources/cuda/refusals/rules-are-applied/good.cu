[[tile_export(tile_shape = 128)]]
__device__ float f(float b, float& a) { return a + b; }
