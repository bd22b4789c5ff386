"""A tile in memory between two guard bands, as bytes that any device can be handed.

A result is poisoned before the call with the complement of what is expected, so that no element that was not written
passes by luck.  Afterwards both bands and every tile that is only read must be what they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.callers.bundle import Check, Tensor
from tilewright.callers.comparison import Comparison, bits_of, compare
from tilewright.callers.inputs import Tile, dtype_of

GUARD = 4096
"""Bytes before and after every tile; a multiple of every alignment."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call did: faults in words, and what was only nearly the same."""

    faults: tuple[str, ...]
    nans: int
    largest_ulps: int


def image_of(tensor: Tensor, case: int) -> bytes:
    """Guard band, tile, guard band, as they are before the call."""
    if tensor.before is not None:
        tile = tensor.before[case].tobytes()
    elif tensor.expected is not None:
        tile = np.invert(bits_of(tensor.element, tensor.expected[case])).tobytes()
    else:
        tile = b""
    return b"".join((band(tensor.name, 0), tile, band(tensor.name, 1)))


def band(name: str, side: int) -> bytes:
    """The pattern of a guard band; it differs from one parameter and one side to the next."""
    start = (sum(name.encode()) + 101 * side) % 251
    return bytes((start + 37 * at) % 251 + 1 for at in range(GUARD))


def outcome_of(check: Check, case: int, images: Sequence[bytes]) -> Outcome:
    """Compares the images of all parameters after a call with what the bundle expects."""
    faults: list[str] = []
    nans = largest = 0
    for tensor, image in zip(check.tensors, images, strict=True):
        faults += _broken_bands(tensor, image)
        tile = np.frombuffer(image, dtype_of(tensor.element), count=check.tile_shape, offset=GUARD)
        if tensor.before is not None and tensor.expected is None:
            faults += _changed(tensor, tile, tensor.before[case])
        if tensor.expected is None:
            continue
        found = compare(tensor.element, tile, tensor.expected[case], max_ulps=check.max_ulps)
        faults += _wrong(tensor, found)
        nans += found.nans
        largest = max(largest, found.largest_ulps)
    return Outcome(tuple(faults), nans, largest)


def _wrong(tensor: Tensor, found: Comparison) -> Iterator[str]:
    if found.wrong:
        more = f"; {found.wrong} elements differ" if found.wrong > 1 else ""
        yield f"`{tensor.name}`: {'; '.join(map(str, found.first))}{more}"


def _changed(tensor: Tensor, tile: Tile, before: Tile) -> Iterator[str]:
    changed = np.flatnonzero(bits_of(tensor.element, tile) != bits_of(tensor.element, before))
    if len(changed):
        yield f"`{tensor.name}` is an input, and element {changed[0]} of it was written"


def _broken_bands(tensor: Tensor, image: bytes) -> Iterator[str]:
    for side, (part, where) in enumerate(((image[:GUARD], "before the start"), (image[-GUARD:], "past the end"))):
        intact = band(tensor.name, side)
        if part != intact:
            touched = [at for at in range(GUARD) if part[at] != intact[at]]
            nearest = GUARD - touched[-1] if side == 0 else touched[0] + 1
            count = f"{len(touched)} bytes were written {where} of the tile"
            yield f"`{tensor.name}`: {count}, the nearest {nearest} bytes away"
