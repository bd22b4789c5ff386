[[tile_export(tile_shape = 100)]]
__device__ float f(float& a, float b) { return a + b; }
