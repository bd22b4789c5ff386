[[tile_export(tile_shape = 128)]]
__device__ float *place_of(float& x) { return 0; }
