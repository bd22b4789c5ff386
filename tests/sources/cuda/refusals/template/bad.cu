template <typename T>
[[tile_export(tile_shape = 128)]]
__device__ T relu(T x) { return x > T(0) ? x : T(0); }
