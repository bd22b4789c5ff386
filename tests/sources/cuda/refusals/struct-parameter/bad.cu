struct Pair { float a, b; };
[[tile_export(tile_shape = 128)]]
__device__ float sum(Pair p) { return p.a + p.b; }
