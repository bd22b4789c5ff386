constexpr int kElements = 4;
[[tile_export(tile_shape = 128)]]
__device__ void clear(float (&x)[kElements]) { x[0] = 0.0f; }
