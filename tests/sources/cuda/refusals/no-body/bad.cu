[[tile_export(tile_shape = 128)]]
__device__ float relu(float x);

__device__ float relu(float x) { return x; }
