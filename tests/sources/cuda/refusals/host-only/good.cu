[[tile_export(tile_shape = 128)]]
__host__ __device__ float relu(float x) { return x; }
