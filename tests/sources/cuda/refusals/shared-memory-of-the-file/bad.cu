__shared__ float buffer[128];

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    buffer[threadIdx.x] = x;
    return buffer[threadIdx.x];
}
