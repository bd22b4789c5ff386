template <typename T>
__device__ T positive(T x) { return x > T(0) ? x : T(0); }
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) { return positive(x); }
