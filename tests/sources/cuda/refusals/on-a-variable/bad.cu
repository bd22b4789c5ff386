[[tile_export(tile_shape = 128)]]
__device__ float scale = 2.0f;
