// A library of elementwise operations on two tiles.

/// The sum of two tiles, rounded once.
[[tile_export(tile_shape = 1024)]]
__device__ float add_bias(float x, float bias) {
    return x + bias;
}
