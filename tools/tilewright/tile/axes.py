"""Named axes, shapes made of them, and the element types."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TypeAlias

from tilewright.tile.errors import fail
from tilewright.tileir.types import Element

bool_, i8, u8, i16, u16 = Element.BOOL, Element.I8, Element.U8, Element.I16, Element.U16
i32, u32, i64, u64 = Element.I32, Element.U32, Element.I64, Element.U64
f16, bf16, f32, f64 = Element.F16, Element.BF16, Element.F32, Element.F64


class Axis:
    """A named dimension with an extent. Two axes are two dimensions, also when they have one name."""

    __slots__ = ("extent", "name")

    def __init__(self, name: str, extent: int) -> None:
        self.name = name
        self.extent = extent

    def __repr__(self) -> str:
        return f"<axis {self.name}={self.extent}>"


Shape: TypeAlias = Axis | int | Sequence[Axis | int]
"""Axes, or plain extents: an int is the dimension of its position counted from the right."""


def axis(name: str, extent: int) -> Axis:
    """A fresh axis of `extent` elements."""
    return Axis(name, checked_extent(extent))


def cdiv(a: int, b: int) -> int:
    """a / b rounded up: cdiv(1003, 64) is 16."""
    return -(-a // b)


def checked_extent(extent: object) -> int:
    """A Python integer of 0 or more."""
    if not isinstance(extent, Integral) or isinstance(extent, bool):
        fail(f"an extent is an integer, not {extent!r}", rule="extent-not-an-integer")
    if int(extent) < 0:
        fail(f"extent {extent} is negative", rule="negative-extent")
    return int(extent)


def shape_items(shape: object) -> tuple[Axis | int, ...]:
    """A shape as a tuple of axes and extents; `(m, 4)`, `m` and `4` are all accepted."""
    items = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    return tuple(item if isinstance(item, Axis) else checked_extent(item) for item in items)
