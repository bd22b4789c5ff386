[[tile_export(tile_shape = 128)]]
float relu(float x) { return x; }
