[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    asm volatile("{ .reg .b32 r; }");
    return x;
}
