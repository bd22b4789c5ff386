// Two kernels for each tile size that differ in one expression: a call into a tile library, and the tile operation.
#include "tilelib_relu_tile.h"
#include "wide_tile.h"

namespace ct = cuda::tiles;

constexpr unsigned kTilesPerBlock = 16;

template <unsigned N>
using Tile = ct::tile<float, ct::shape<N>>;

template <unsigned N, typename Operation>
__tile__ void each_tile(const float* x, float* y, unsigned elements, Operation operation) {
    auto inputs = ct::partition_view{ct::tensor_span{x, ct::extents{elements}}, ct::shape<N>{}};
    auto outputs = ct::partition_view{ct::tensor_span{y, ct::extents{elements}}, ct::shape<N>{}};
    unsigned first = ct::bid().x * kTilesPerBlock;
    for (unsigned at = 0; at < kTilesPerBlock; ++at) {
        outputs.store_masked(operation(inputs.load_masked(first + at)), first + at);
    }
}

extern "C" __tile_global__ void library_128(const float* x, float* y, unsigned elements) {
    each_tile<128>(x, y, elements, [](Tile<128> tile) {
        return tilelib_relu::relu(tile, ct::full<Tile<128>>(0.0f));
    });
}

extern "C" __tile_global__ void native_128(const float* x, float* y, unsigned elements) {
    each_tile<128>(x, y, elements, [](Tile<128> tile) { return ct::max(tile, ct::full<Tile<128>>(0.0f)); });
}

extern "C" __tile_global__ void library_1024(const float* x, float* y, unsigned elements) {
    each_tile<1024>(x, y, elements, [](Tile<1024> tile) {
        return wide::relu_1024(tile, ct::full<Tile<1024>>(0.0f));
    });
}

extern "C" __tile_global__ void native_1024(const float* x, float* y, unsigned elements) {
    each_tile<1024>(x, y, elements, [](Tile<1024> tile) { return ct::max(tile, ct::full<Tile<1024>>(0.0f)); });
}
