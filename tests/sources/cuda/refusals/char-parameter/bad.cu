[[tile_export(tile_shape = 128)]]
__device__ void add(int& x, char y) { x += y; }
