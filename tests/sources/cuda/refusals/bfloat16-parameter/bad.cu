#include <cuda_bf16.h>
#include <cuda_fp16.h>
[[tile_export(tile_shape = 128)]]
__device__ float widen(__nv_bfloat16 x) { return x; }
