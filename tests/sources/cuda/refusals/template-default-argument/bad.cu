template <int N = (4)>
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) { return x * N; }
