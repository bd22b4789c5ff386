#define MEET() __syncwarp()

[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float relu(float x) {
    MEET();
    return x;
}
