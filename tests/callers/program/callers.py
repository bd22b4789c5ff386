"""Small Tile C++ callers as text."""

from __future__ import annotations

HEAD = """\
#include <cuda_tile.h>
namespace ct = cuda::tiles;
template <typename E, unsigned N> using T = ct::tile<E, ct::shape<N>>;
template <typename E, unsigned N> __tile__ auto whole(E* data) {
    return ct::partition_view{ct::tensor_span{data, ct::shape<N>{}}, ct::shape<N>{}};
}
"""
INOUT = "[[cutile::experimental_inout]]"


def caller(name: str, element: str = "float", size: int = 128, inputs: int = 1) -> str:
    """A kernel that calls a declaration with `inputs` tiles and a slot, all of one type, written by hand."""
    tile = f"T<{element}, {size}>"
    parameters = ", ".join([*(f"{tile} x{number}" for number in range(inputs)), f"{INOUT} {tile} out"])
    declaration = f'__experimental_foreign_decl__ __experimental_foreign_name__("{name}") {tile} call({parameters});\n'
    loads = ", ".join(["view.load(0)"] * (inputs + 1))
    return (
        HEAD
        + declaration
        + f'extern "C" __tile_global__ void kernel({element}* x) {{\n'
        + f"    auto view = whole<{element}, {size}>(x);\n    view.store(call({loads}), 0);\n}}\n"
    )


def parametric_caller(name: str, size: int) -> str:
    """A kernel that calls a parametric declaration for one size."""
    tile = "ct::tile<float, ct::shape<N>>"
    return (
        HEAD
        + f'template <size_t N> __experimental_foreign_decl__ __experimental_foreign_name__("{name}")\n'
        + f"{tile} call({tile} x, {INOUT} {tile} out);\n"
        + 'extern "C" __tile_global__ void kernel(float* x) {\n'
        + f"    auto view = whole<float, {size}>(x);\n"
        + f"    view.store(call<{size}>(view.load(0), view.load(0)), 0);\n}}\n"
    )
