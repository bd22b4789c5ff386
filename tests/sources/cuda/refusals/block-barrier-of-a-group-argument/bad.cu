#include <cooperative_groups.h>

namespace cg = cooperative_groups;

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    cg::sync(cg::this_thread_block());
    return x;
}
