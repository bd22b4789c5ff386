// A comment about __syncthreads() is none.
__device__ float meet(float x) {
    __syncthreads();
    return x;
}
__device__ float through(float x) { return meet(x); }

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) { return through(x); }
