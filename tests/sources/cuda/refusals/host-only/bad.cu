[[tile_export(tile_shape = 128)]]
__host__ float relu(float x) { return x; }
