[[tile_export(tile_shape = 128)]]
__device__ void add(unsigned long long& x) { x += 1; }
