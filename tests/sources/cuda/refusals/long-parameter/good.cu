[[tile_export(tile_shape = 128)]]
__device__ void add(long long& x) { x += 1; }
