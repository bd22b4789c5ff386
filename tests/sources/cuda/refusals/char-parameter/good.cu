[[tile_export(tile_shape = 128)]]
__device__ void add(int& x, signed char y) { x += y; }
