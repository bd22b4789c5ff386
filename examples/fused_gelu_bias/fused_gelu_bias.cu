// y = gelu(x + bias) over a row-major matrix of any size, in one kernel that calls two tile libraries.
//
// A block works on 8 rows and 128 columns. Blocks at the lower and right edges reach past the matrix: the loads are
// masked, what lies outside reads as zero, and the store leaves it out. The exports take tiles of one dimension, so the
// tile is reshaped, which moves no data.
#include "activation_tile.h"
#include "broadcast_tile.h"

namespace ct = cuda::tiles;

constexpr unsigned kRows = 8;
constexpr unsigned kColumns = 128;
using Flat = ct::shape<kRows * kColumns>;
using Block = ct::shape<kRows, kColumns>;

// Launched with a grid of (columns / 128, rows / 8) blocks, rounded up, and one thread a block.
extern "C" __tile_global__ void fused_gelu_bias(const float* x, const float* bias, float* y, unsigned rows,
                                                unsigned columns) {
    auto position = ct::bid();
    auto matrix = ct::extents{rows, columns};
    auto inputs = ct::partition_view{ct::tensor_span{x, matrix}, Block{}};
    auto biases = ct::partition_view{ct::tensor_span{bias, ct::extents{1u, columns}}, ct::shape<1, kColumns>{}};
    auto outputs = ct::partition_view{ct::tensor_span{y, matrix}, Block{}};

    auto values = ct::reshape(inputs.load_masked(position.y, position.x), Flat{});
    auto shift = ct::reshape(ct::broadcast(biases.load_masked(0, position.x), Block{}), Flat{});
    auto slot = ct::full<ct::tile<float, Flat>>(0.0f);
    auto sum = broadcast::add_bias(values, shift, slot);
    outputs.store_masked(ct::reshape(activation::gelu(sum, slot), Block{}), position.y, position.x);
}
