[[tile_export(tile_shape = 128)]]
__device__ relu(float x) { return x; }
