"""Two tiles compared by bits: where they differ, with hex and decimal values.

Where a NaN is expected, any NaN passes: a GPU makes 0x7fffffff, a CPU 0x7fc00000.  Floats of an export that declares
a bound may be that many units in the last place away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.callers.inputs import Tile, value_text
from tilewright.exports.elements import ElementType

SHOWN = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """One wrong element: its index in the tile, what is there and what should be, in hex and decimal."""

    element: int
    found: str
    expected: str

    def __str__(self) -> str:
        return f"element {self.element} is {self.found}, expected {self.expected}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`wrong` elements, the first few of them in `first`; NaNs that only had to be some NaN; the largest error."""

    wrong: int
    first: tuple[Difference, ...]
    nans: int
    largest_ulps: int


def compare(element: ElementType, found: Tile, expected: Tile, *, max_ulps: int = 0) -> Comparison:
    """Compares tiles of one element type. `max_ulps` counts for floats only, and 0 means equal bits."""
    here, there = bits_of(element, found), bits_of(element, expected)
    same = here == there
    nans = 0
    largest = 0
    if element.is_float:
        expected_nan = np.isnan(expected)
        either = expected_nan & np.isnan(found)
        nans = int(np.count_nonzero(either))
        same = same | either
        if max_ulps:
            near, largest = _near(element, here, there, np.isnan(found) | expected_nan, max_ulps)
            same = same | near
    places = np.flatnonzero(~same)
    first = tuple(
        Difference(int(at), value_text(element, int(here[at])), value_text(element, int(there[at])))
        for at in places[:SHOWN]
    )
    return Comparison(len(places), first, nans, largest)


def bits_of(element: ElementType, tile: Tile) -> NDArray[Any]:
    """The elements as unsigned integers of their size."""
    return tile.view(np.dtype(f"<u{element.size}"))


def _near(
    element: ElementType, here: NDArray[Any], there: NDArray[Any], nan: NDArray[np.bool_], max_ulps: int
) -> tuple[NDArray[np.bool_], int]:
    """Which elements are within the bound, and the largest distance among those; -0 and 0 are 0 apart."""
    sign = 1 << (8 * element.size - 1)
    ordered = []
    for bits in (here, there):
        magnitude = (bits & (sign - 1)).astype(np.int64)
        ordered.append(np.where(bits & bits.dtype.type(sign) != 0, -magnitude, magnitude))
    low, high = np.minimum(*ordered), np.maximum(*ordered)
    distance = high.view(np.uint64) - low.view(np.uint64)
    near = (distance <= np.uint64(max_ulps)) & ~nan
    return near, int(distance[near].max(initial=0))
