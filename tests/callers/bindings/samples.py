"""Descriptions that bindings are written from, as values."""

from __future__ import annotations

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport


def given(name: str, element: ElementType = ElementType.F32) -> Parameter:
    """A by-value input."""
    return Parameter(name, element, Access.IN, by_value=True)


def updated(name: str, element: ElementType = ElementType.F32) -> Parameter:
    """A parameter that is read and written."""
    return Parameter(name, element, Access.INOUT)


def slot(function: str, element: ElementType = ElementType.F32) -> Parameter:
    """The slot of a return value."""
    return Parameter(f"{function}_out", element, Access.OUT, is_return=True)


def export(name: str, *parameters: Parameter, tile_shape: int | None = 128, doc: str = "") -> TileExport:
    """An export of that name."""
    return TileExport(name, f"{name}_impl", name, parameters, tile_shape, Sync.NONE, (), doc)


def library(*exports: TileExport, name: str = "sample") -> ExportSet:
    """A library of those exports."""
    return ExportSet(name, exports)


RELU = export("relu", given("x"), slot("relu"), doc="Elementwise `max(x, 0)`.")
BOTH = export("both", given("x"), updated("low"), updated("high"))
SIX = export("six", *(updated(letter) for letter in "abcdef"))
ANY = export("relu_any", given("x"), slot("relu_any"), tile_shape=None)

TYPES = """\
#include <cuda_fp16.h>
[[tile_export(tile_shape = 32)]] __device__ __half id_f16(__half x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ float id_f32(float x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ double id_f64(double x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ signed char id_i8(signed char x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ short id_i16(short x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ int id_i32(int x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ long long id_i64(long long x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ unsigned char id_u8(unsigned char x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ unsigned short id_u16(unsigned short x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ unsigned int id_u32(unsigned int x) { return x; }
[[tile_export(tile_shape = 32)]] __device__ unsigned long long id_u64(unsigned long long x) { return x; }
[[tile_export(tile_shape = 64)]] __device__ void sums(const float (&x)[4], float (&y)[4]) {
    for (int i = 0; i < 4; ++i) y[i] += x[i];
}
[[tile_export(tile_shape = 64)]] __device__ float two(float x, float& low) { low = low + x; return low * x; }
[[tile_export(tile_shape = 64)]] __device__ int five(int x, int& a, int& b, int& c, int& d) {
    a += x; b *= x; c -= x; d ^= x; return x + 1;
}
"""
"""A library with every element type, a footprint of four, two results and five."""
