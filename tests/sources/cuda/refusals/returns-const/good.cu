[[tile_export(tile_shape = 128)]]
__device__ float same(float x) { return x; }
