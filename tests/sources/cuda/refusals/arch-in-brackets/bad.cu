[[tile_export(tile_shape = 128, arch = ["sm_90", "sm_120"])]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
