#include <cooperative_groups.h>

namespace cg = cooperative_groups;

[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    auto block = cg::this_thread_block();
    block.sync();
    return x;
}
