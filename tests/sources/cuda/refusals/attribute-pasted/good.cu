#define NAMED(a) file_##a

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    float NAMED(x) = x;
    return file_x;
}
