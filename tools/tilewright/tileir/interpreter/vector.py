"""Values of many instances at once.

Instances of `parallel` and elements of `tile.map` are *lanes*: leading array axes, one a domain axis. A value has the
lane axes of the nests around its definition, each of full size or 1 where the value does not vary, then its tile axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.tileir.dims import Dim
from tilewright.tileir.types import Element

Array: TypeAlias = NDArray[Any]

COMPUTE = {
    Element.BOOL: np.dtype(np.bool_),
    Element.I8: np.dtype(np.int8),
    Element.U8: np.dtype(np.uint8),
    Element.I16: np.dtype(np.int16),
    Element.U16: np.dtype(np.uint16),
    Element.I32: np.dtype(np.int32),
    Element.U32: np.dtype(np.uint32),
    Element.I64: np.dtype(np.int64),
    Element.U64: np.dtype(np.uint64),
} | {element: np.dtype(np.float64) for element in Element if element.is_float}
"""What an element is computed in: every float in float64 without rounding, integers exactly in their own width."""


@dataclass(frozen=True, slots=True)
class Vector:
    """An array whose first `lanes` axes are lanes; the others are the axes of a tile (none for a scalar)."""

    data: Array
    lanes: int

    def at_depth(self, depth: int) -> Array:
        """The array with singleton axes for the lanes of deeper nests."""
        shape = self.data.shape
        return self.data.reshape(shape[: self.lanes] + (1,) * (depth - self.lanes) + shape[self.lanes :])


def aligned(data: Array, lanes: int, dims: tuple[Dim, ...], order: tuple[Dim, ...]) -> Array:
    """Tile axes brought into that order, with a singleton axis for each dim that `dims` lacks."""
    present = [dim for dim in order if dim in dims]
    moved = data.transpose(*range(lanes), *(lanes + dims.index(dim) for dim in present))
    sizes = iter(moved.shape[lanes:])
    return moved.reshape(moved.shape[:lanes] + tuple(next(sizes) if dim in dims else 1 for dim in order))


def along(size: int, place: int, rank: int, start: int = 0) -> NDArray[np.int64]:
    """start, start+1, ... along axis `place` of an array of that rank."""
    return np.arange(start, start + size, dtype=np.int64).reshape((1,) * place + (size,) + (1,) * (rank - place - 1))
