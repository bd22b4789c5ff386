[[tile_export(tile_shape = 128)]]
__device__ float apply(float f(float), float x) { return x; }
