[[tile_export(tile_shape = 128, tile_shape = 256)]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
