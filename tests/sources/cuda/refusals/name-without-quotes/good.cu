[[tile_export(tile_shape = 128, name = "relu")]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
