[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float relu(float x) {
    __syncwarp();
    return x;
}
