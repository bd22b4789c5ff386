constexpr int kTile = 128;

[[tile_export(tile_shape = kTile)]]
__device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }
