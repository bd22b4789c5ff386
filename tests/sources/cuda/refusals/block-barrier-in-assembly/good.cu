[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float relu(float x) {
    asm volatile("bar.warp.sync -1;" ::: "memory");
    return x;
}
