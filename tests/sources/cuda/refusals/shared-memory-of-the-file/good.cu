__shared__ float buffer[128];

__global__ void kernel(float *out) { *out = buffer[0]; }
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
