#define EXPORT __device__

[[tile_export(tile_shape = 128)]] EXPORT float relu(float x) { return x; }
