__device__ float [[tile_export(tile_shape = 128)]] relu(float x) { return x; }
