#define MEET() __syncwarp()

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    MEET();
    return x;
}
