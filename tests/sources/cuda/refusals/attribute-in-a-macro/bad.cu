#define EXPORT [[tile_export(tile_shape = 128)]]

EXPORT __device__ float relu(float x) { return x; }
