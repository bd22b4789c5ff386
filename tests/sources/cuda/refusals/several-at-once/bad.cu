[[tile_export(tile_shape = N)]]
__device__ void scale(float *x, bool on) {
    __syncthreads();
}
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
[[tile_export(size = 3)]]
__device__ void none(int x) {}
