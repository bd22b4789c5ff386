#define JOIN(a, b) a##b

[[JOIN(tile_, export)(tile_shape = 128)]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
