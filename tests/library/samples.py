"""Exports of the specification, and what the tests keep of a packed library."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport

F32 = ElementType.F32

DEVICE_CODE = """
extern "C" __device__ void relu_impl(float x, float *relu_out) { *relu_out = x > 0.f ? x : 0.f; }
extern "C" __device__ void scale_in_place_impl(float *x, float factor) { *x *= factor; }
extern "C" __device__ void warp_sum_impl(float x, float *warp_sum_out) {
  for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(0xffffffffu, x, offset);
  *warp_sum_out = x;
}
"""


def elementwise(
    name: str, *, tile_shape: int | None = 128, sync: Sync = Sync.NONE, arch: tuple[str, ...] = ()
) -> TileExport:
    """An export `float name(float x)`."""
    parameters = (
        Parameter("x", F32, Access.IN, by_value=True),
        Parameter(f"{name}_out", F32, Access.OUT, is_return=True),
    )
    return TileExport(name, f"{name}_impl", name, parameters, tile_shape, sync, arch)


SCALE = TileExport(
    "scale_in_place",
    "scale_in_place_impl",
    "scale",
    (Parameter("x", F32, Access.INOUT), Parameter("factor", F32, Access.IN, by_value=True)),
    128,
)

THREE = ExportSet("three", (elementwise("relu"), SCALE, elementwise("warp_sum", sync=Sync.WARP)))


@dataclass(frozen=True)
class Packed:
    """The inputs of a library and what the assembler made of them."""

    interface: bytes
    implementation: bytes
    ltoir: bytes
    library: bytes
