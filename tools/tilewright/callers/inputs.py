"""Input tiles: ramps as in the specification, random values, and the values at the edges of each type.

Every tile follows from the seed, the export, the kind and the parameter, whatever NumPy is installed: only the raw
output of PCG64 is used.  Spec: Verifying the ABI on CUDA 13.4.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.exports.elements import ElementType
from tilewright.exports.model import TileExport

Tile = NDArray[Any]
LARGEST_THOROUGH_TILE = 65_536
"""Above this many elements an export gets the first three kinds only."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of input: `make(element, count, parameter number, random 64-bit words)`, and whether floats only."""

    name: str
    make: Callable[[ElementType, int, int, NDArray[np.uint64]], Tile]
    floats_only: bool = False


def dtype_of(element: ElementType) -> np.dtype[Any]:
    """Little-endian NumPy type of an element: `<f2`, `<u4`."""
    letter = "f" if element.is_float else "u" if element.is_unsigned else "i"
    return np.dtype(f"<{letter}{element.size}")


def tile_size(export: TileExport) -> int:
    """Elements of a sized export's tile; asking a parametric one is a bug of ours."""
    if export.tile_shape is None:
        raise RuntimeError(f"{export.name} has no tile size")
    return export.tile_shape


def words_of(seed: int, label: str, count: int) -> NDArray[np.uint64]:
    """`count` random 64-bit words that depend on the seed and the label only."""
    key = hashlib.sha256(f"{seed} {label}".encode()).digest()
    return np.random.PCG64(int.from_bytes(key[:16], "little")).random_raw(count)


def _from_words(element: ElementType, words: NDArray[np.uint64]) -> Tile:
    """The low bits of each word as an element."""
    return words.astype(np.dtype(f"<u{element.size}")).view(dtype_of(element))


def ramp(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """From -4 up to 4; each further parameter half as steep and a quarter higher, so that no two are alike.

    Integers count from -count/2, unsigned ones from 0, each further parameter three times as fast.
    """
    at = np.arange(count, dtype=np.float64)
    if element.is_float:
        return ((at - count / 2) * (8 / count) * 0.5**number + 0.25 * number).astype(dtype_of(element))
    whole = (np.arange(count, dtype=np.int64) - (0 if element.is_unsigned else count // 2)) * 3**number + number
    return _from_words(element, whole.view(np.uint64))


def count_up(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """0, 1, 2, ...; each further parameter starts one later, so that sums over lanes are exact."""
    whole = np.arange(number, count + number, dtype=np.int64)
    if element.is_float:
        return np.minimum(whole, 2048 if element.size == 2 else count + number).astype(dtype_of(element))
    return _from_words(element, whole.view(np.uint64))


def random(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """Floats evenly in [-8, 8); integers any."""
    if not element.is_float:
        return _from_words(element, words)
    return ((words >> np.uint64(11)).astype(np.float64) * 2.0**-53 * 16 - 8).astype(dtype_of(element))


def random_bits(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """Any pattern of bits, NaN and infinity among them."""
    return _from_words(element, words)


def not_numbers(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """A ramp in which every third element is a NaN: both signs, quiet and signalling, with payloads."""
    tile = ramp(element, count, number, words)
    return _scattered(element, tile, _patterns(element, "not a number"), number, 3)


def infinities(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """A ramp in which every second element is an infinity, a signed zero or the largest number."""
    tile = ramp(element, count, number, words)
    return _scattered(element, tile, _patterns(element, "infinity"), number, 2)


def denormals(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """Denormal numbers and the smallest normal ones, both signs."""
    tile = _from_words(element, words & np.uint64((1 << _fraction_bits(element)) - 1))
    return _scattered(element, tile, _patterns(element, "denormal"), number, 2)


def extremes(element: ElementType, count: int, number: int, words: NDArray[np.uint64]) -> Tile:
    """The least and the greatest integers and their neighbours, 0, 1, -1, alternating bits."""
    if element.is_float:
        return random(element, count, number, words)
    top = 1 << (8 * element.size - 1)
    table = [0, 1, 2 * top - 1, top, top - 1, top + 1, 2 * top - 2, top // 3, 2 * top // 3]
    chosen = np.array(table, dtype=np.uint64)[(words % np.uint64(len(table))).astype(np.int64)]
    return _from_words(element, chosen)


RAMP = "a ramp from -4 to 4"
INTEGER_RAMP = "a ramp of integers"
"""What `RAMP` is called where no input is a float."""

KINDS = (
    Kind(RAMP, ramp),
    Kind("a ramp from 0 upwards", count_up),
    Kind("random values", random),
    Kind("random bits", random_bits),
    Kind("NaN", not_numbers, floats_only=True),
    Kind("infinities", infinities, floats_only=True),
    Kind("denormals", denormals, floats_only=True),
    Kind("integer extremes", extremes),
)


def kinds_for(export: TileExport) -> tuple[Kind, ...]:
    """The kinds of input that fit the elements of an export's inputs, fewer for a very large tile."""
    elements = [parameter.element for parameter in export.parameters if not parameter.is_return]
    floats = any(element.is_float for element in elements)
    integers = any(not element.is_float for element in elements)
    found = tuple(
        kind for kind in KINDS if (floats or not kind.floats_only) and (integers or kind.make is not extremes)
    )
    return found if (export.tile_shape or 0) <= LARGEST_THOROUGH_TILE else found[:3]


def tiles_of(export: TileExport, seed: int) -> Iterator[tuple[str, dict[str, Tile]]]:
    """For each kind of input what to call it, and the tiles of every parameter that is read, by name."""
    count = tile_size(export)
    floats = any(parameter.element.is_float for parameter in export.parameters if not parameter.is_return)
    for kind in kinds_for(export):
        tiles = {}
        for number, parameter in enumerate(each for each in export.parameters if not each.is_return):
            words = words_of(seed, f"{export.name} {kind.name} {parameter.name}", count)
            usable = parameter.element.is_float or not kind.floats_only
            make = kind.make if usable else random
            tiles[parameter.name] = make(parameter.element, count, number, words)
        yield INTEGER_RAMP if kind.name == RAMP and not floats else kind.name, tiles


def _fraction_bits(element: ElementType) -> int:
    return {2: 10, 4: 23, 8: 52}[element.size] if element.is_float else 8 * element.size - 1


def _patterns(element: ElementType, which: str) -> list[int]:
    if not element.is_float:
        return [0]
    fraction = _fraction_bits(element)
    sign = 1 << (8 * element.size - 1)
    infinity = (sign - 1) >> fraction << fraction
    quiet = 1 << (fraction - 1)
    positive = {
        "not a number": [infinity | quiet, infinity | 1, infinity | quiet | 5, infinity | (quiet - 1)],
        "infinity": [infinity, 0, infinity - 1],
        "denormal": [1, (1 << fraction) - 1, 1 << fraction, quiet],
    }[which]
    return [pattern | side for pattern in positive for side in (0, sign)]


def _scattered(element: ElementType, tile: Tile, patterns: list[int], number: int, step: int) -> Tile:
    """The patterns in turn at every `step`th element; a further parameter begins one later."""
    bits = tile.view(np.dtype(f"<u{element.size}")).copy()
    places = np.arange(number % step, len(bits), step)
    table = np.array(patterns, dtype=bits.dtype)
    bits[places] = table[(np.arange(len(places)) + number) % len(table)]
    return bits.view(dtype_of(element))


def value_text(element: ElementType, bits: int) -> str:
    """An element in hex and decimal: `0x3fc00000 (1.5)`."""
    data = bits.to_bytes(element.size, "little")
    letters = {"f16": "e", "f32": "f", "f64": "d"}
    if element.is_float:
        (value,) = struct.unpack(f"<{letters[element.label]}", data)
        return f"0x{bits:0{2 * element.size}x} ({value:.9g})" if element.size < 8 else f"0x{bits:016x} ({value:.17g})"
    return f"0x{bits:0{2 * element.size}x} ({int.from_bytes(data, 'little', signed=not element.is_unsigned)})"
