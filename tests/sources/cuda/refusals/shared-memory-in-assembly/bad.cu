[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    asm volatile("{ .shared .align 4 .b8 buffer[512]; }");
    return x;
}
