#define REAL float

[[tile_export(tile_shape = 128)]]
__device__ REAL relu(REAL x) { return x; }
