"""Exports with and without a tile size, their device code in both languages, and callers of them in Tile C++."""

from __future__ import annotations

from library.samples import SCALE, elementwise
from tilewright.device.retarget.header import DATA_LAYOUT, TRIPLE
from tilewright.exports.model import ExportSet, Sync

EXPORTS = ExportSet(
    "mixed",
    (
        elementwise("relu_any", tile_shape=None),
        elementwise("warp_sum_any", tile_shape=None, sync=Sync.WARP),
        elementwise("relu"),
        SCALE,
    ),
)

HEAD = f'target datalayout = "{DATA_LAYOUT}"\ntarget triple = "{TRIPLE}"\n'
TAIL = "!nvvmir.version = !{!0}\n!0 = !{i32 2, i32 0}\n"


SHUFFLE = "@llvm.nvvm.shfl.sync.bfly.i32"


def _lanes() -> str:
    lines, total = [], "%x"
    for offset in (16, 8, 4, 2, 1):
        lines += [
            f"  %bits{offset} = bitcast float {total} to i32",
            f"  %other{offset} = call i32 {SHUFFLE}(i32 -1, i32 %bits{offset}, i32 {offset}, i32 31)",
            f"  %float{offset} = bitcast i32 %other{offset} to float",
            f"  %sum{offset} = fadd float {total}, %float{offset}",
        ]
        total = f"%sum{offset}"
    return "\n".join([*lines, f"  store float {total}, float* %o"])


RELU_BODY = """\
  %positive = fcmp ogt float %x, 0.0
  %r = select i1 %positive, float %x, float 0.0
  store float %r, float* %o
  ret void
}
"""

IR = f"""{HEAD}
declare i32 {SHUFFLE}(i32, i32, i32, i32)
define void @relu_any_impl(float %x, float* nocapture writeonly %o) #0 {{
{RELU_BODY}
define void @relu_impl(float %x, float* %o) {{
{RELU_BODY}
define void @scale_in_place_impl(float* %x, float %factor) {{
  %v = load float, float* %x
  %m = fmul float %v, %factor
  store float %m, float* %x
  ret void
}}
define void @warp_sum_any_impl(float %x, float* %o) #0 {{
{_lanes()}
  ret void
}}
attributes #0 = {{ convergent nounwind }}
{TAIL}"""

CUDA = """
extern "C" __device__ void relu_any_impl(float x, float *relu_any_out) { *relu_any_out = x > 0.f ? x : 0.f; }
extern "C" __device__ void relu_impl(float x, float *relu_out) { *relu_out = x > 0.f ? x : 0.f; }
extern "C" __device__ void scale_in_place_impl(float *x, float factor) { *x *= factor; }
extern "C" __device__ void warp_sum_any_impl(float x, float *warp_sum_any_out) {
  for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(0xffffffffu, x, offset);
  *warp_sum_any_out = x;
}
"""

CALLER_HEAD = """\
#include <cuda_tile.h>
#include <cuda_fp16.h>
namespace ct = cuda::tiles;
template <typename E, size_t N> using row = ct::tile<E, ct::shape<N>>;
template <size_t N, typename E> __tile__ auto rows(E* data) {
    return ct::partition_view { ct::tensor_span { data, ct::shape<N> {} }, ct::shape<N> {} };
}
#define ANY(E, f) template <size_t N> __experimental_foreign_decl__ __experimental_foreign_name__(#f) \\
    row<E, N> f(row<E, N> x, [[cutile::experimental_inout]] row<E, N> out);
#define SIZED(E, N, f) __experimental_foreign_decl__ __experimental_foreign_name__(#f) \\
    row<E, N> f(row<E, N> x, [[cutile::experimental_inout]] row<E, N> out);
#define CALL(N, f, from, to) { auto place = rows<N>(to); place.store(f(rows<N>(from).load(0), place.load(0)), 0); }
"""

SIZES_CALLER = (
    CALLER_HEAD
    + """\
ANY(float, relu_any)
ANY(float, warp_sum_any)
SIZED(float, 128, relu)
extern "C" [[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void sizes(
    float* x, float* small, float* large, float* warps, float* fixed) {
    CALL(128, relu_any<128>, x, small)
    CALL(256, relu_any<256>, x, large)
    CALL(64, warp_sum_any<64>, x, warps)
    CALL(128, relu, x, fixed)
}
"""
)

ALL_SYMBOLS = (
    "relu_any__N128=relu_any_impl__N128",
    "relu_any__N256=relu_any_impl__N256",
    "warp_sum_any__N64=warp_sum_any_impl__N64",
    "relu=relu_impl",
)
"""What the assembler wants for that caller: specialised declaration and symbol."""
