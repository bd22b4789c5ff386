[[tile_export(tile_shape = 128)]]
__device__ void keep(float& x, bool on) { x = on ? x : 0.0f; }
