[[tile_export(tile_shape = 128)]]
__device__ void keep(float& x, unsigned char on) { x = on ? x : 0.0f; }
