#define JOIN(a, b) a##b

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    float JOIN(re, sult) = x;
    return result;
}
