[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    return __syncthreads_or(x > 0.0f) ? x : 0.0f;
}
