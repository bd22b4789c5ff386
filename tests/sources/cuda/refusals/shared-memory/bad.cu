[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    __shared__ float buffer[128];
    buffer[threadIdx.x] = x;
    return buffer[threadIdx.x];
}
