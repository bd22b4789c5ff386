[[tile_export(tile_shape = 128)]]
__global__ void clear(float& x) { x = 0.0f; }
