"""A result against what was expected: by bits, or within a tolerance that the caller names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 4


def difference(found: NDArray[Any], expected: NDArray[Any], rtol: float = 0.0, atol: float = 0.0) -> str:
    """Empty when they agree. Without a tolerance every bit counts, save that any NaN is as good as another.

    An expected array of another type is allowed with a tolerance only; both are then compared in float64.
    """
    if found.shape != expected.shape:
        return f"the shapes differ: {found.shape} and {expected.shape} expected"
    if not rtol and not atol:
        if found.dtype != expected.dtype:
            return f"the types differ: {found.dtype} and {expected.dtype} expected; give a tolerance to compare anyway"
        equal = _bits(found) == _bits(expected)
        if found.dtype.kind == "f":
            equal |= np.isnan(found) & np.isnan(expected)
    else:
        equal = np.isclose(found.astype(np.float64), expected.astype(np.float64), rtol, atol, equal_nan=True)
    wrong = np.argwhere(~equal)
    if not len(wrong):
        return ""
    lines = [f"{len(wrong)} of {found.size} elements differ"]
    for row in wrong[:SHOWN]:
        at = tuple(int(index) for index in row)
        lines.append(f"  element {list(at)} is {found[at]}, expected {expected[at]}")
    return "\n".join(lines)


def largest_error(found: NDArray[Any], expected: NDArray[Any]) -> float:
    """The largest absolute difference, in float64; 0 for empty arrays."""
    return float(np.max(np.abs(found.astype(np.float64) - expected.astype(np.float64)), initial=0.0))


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array).view(np.dtype(f"<u{array.dtype.itemsize}"))
