[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    asm volatile("bar.sync 0;" ::: "memory");
    return x;
}
