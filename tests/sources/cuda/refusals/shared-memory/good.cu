[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    float buffer[1];
    buffer[0] = x;
    return buffer[0];
}
