"""Kernel arguments as text: arrays from `.npy` files or made on the spot, scalars, and what to do with the results.

x.npy                              an array from a file
f32[1024]=ramp:-4:4                1024 values from -4 up to 4, the last one not reached
f32[300,77]=fill:0.5               equal values; `zeros` for short
i32=300                            a scalar
f32[1024]=zeros,write=y.npy        the array is saved after the launch
f32[1024]=zeros,compare=want.npy   and compared by bits; with rtol=1e-6 or atol=1e-6 as numbers
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.callers.error import CallerError
from tilewright.problem import Problem

TYPES = {
    name: np.dtype(f"<{name[0]}{int(name[1:]) // 8}")
    for name in ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
}
EXAMPLE = "--arg 'f32[1024]=ramp:-4:4' --arg i32=1024 --arg f32[1024]=zeros,compare=want.npy"

_MADE = re.compile(r"(?P<type>[a-z]+[0-9]+)(?:\[(?P<shape>[^\]]*)\])?=(?P<value>.*)")
_OPTIONS = ("write", "compare", "rtol", "atol")


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `value` has rank 0 for a scalar; `write` and `compare` say what becomes of an array."""

    text: str
    value: NDArray[Any]
    scalar: bool = False
    write: Path | None = None
    compare: Path | None = None
    rtol: float = 0.0
    atol: float = 0.0

    @property
    def type_name(self) -> str:
        """`f32`."""
        return next((name for name, dtype in TYPES.items() if dtype == self.value.dtype), str(self.value.dtype))


def parse_argument(text: str) -> Argument:
    """The argument a text describes; CallerError for a text, a file or a number that describes none."""
    source, *rest = _parts(text)
    options = dict(_option(part, text) for part in rest)
    rtol, atol = (_number(options.get(key, "0"), text) for key in ("rtol", "atol"))
    files = {key: Path(options[key]) for key in ("write", "compare") if key in options}
    if (rtol or atol) and "compare" not in files:
        raise _wrong(text, "a tolerance is for `compare=`")
    made = _MADE.fullmatch(source)
    if made and made["shape"] is None:
        if options:
            raise _wrong(text, "a scalar is neither written nor compared")
        return Argument(text, _scalar(made["value"], _type(made["type"], text), text), scalar=True)
    value = _array(made, text) if made else _load(source, text)
    return Argument(text, value, write=files.get("write"), compare=files.get("compare"), rtol=rtol, atol=atol)


def load_array(path: Path, text: str) -> NDArray[Any]:
    """The array of a `.npy` file, contiguous and little-endian; pickled objects are refused."""
    try:
        value = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as failure:
        raise _wrong(text, f"cannot read `{path}`: {failure}") from failure
    if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("<") not in TYPES.values():
        kind = value.dtype if isinstance(value, np.ndarray) else "an archive"
        raise _wrong(text, f"`{path}` holds {kind}, an argument is one of {', '.join(TYPES)}")
    return np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<")))


def _parts(text: str) -> list[str]:
    """Split at the commas that are not inside a shape."""
    return re.split(r",(?![^\[]*\])", text)


def _option(part: str, text: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if key not in _OPTIONS or not equals or not value:
        raise _wrong(text, f"`{part}` is none of {', '.join(f'{name}=...' for name in _OPTIONS)}")
    return key, value


def _array(made: re.Match[str], text: str) -> NDArray[Any]:
    dtype = _type(made["type"], text)
    try:
        shape = tuple(int(extent) for extent in made["shape"].split(","))
    except ValueError:
        raise _wrong(text, f"`{made['shape']}` is not a shape; write it like [300,77]") from None
    if min(shape) < 1:
        raise _wrong(text, "every extent must be at least 1")
    kind, *numbers = made["value"].split(":")
    match kind, len(numbers):
        case "zeros", 0:
            return np.zeros(shape, dtype)
        case "fill", 1:
            return np.full(shape, _scalar(numbers[0], dtype, text))
        case "ramp", 2:
            first, last = (_number(number, text) for number in numbers)
            count = int(np.prod(shape))
            return (first + (last - first) * np.arange(count) / count).astype(dtype).reshape(shape)
    raise _wrong(text, f"`{made['value']}` is none of zeros, fill:VALUE, ramp:FIRST:LAST")


def _load(source: str, text: str) -> NDArray[Any]:
    if not source.endswith(".npy"):
        raise _wrong(text, "it is neither a .npy file nor TYPE[SHAPE]=... nor TYPE=VALUE")
    return load_array(Path(source), text)


def _type(name: str, text: str) -> np.dtype[Any]:
    if name not in TYPES:
        raise _wrong(text, f"`{name}` is none of {', '.join(TYPES)}")
    return TYPES[name]


def _scalar(value: str, dtype: np.dtype[Any], text: str) -> NDArray[Any]:
    try:
        number = float(value) if dtype.kind == "f" else int(value, 0)
        return np.array(number, dtype=dtype)
    except (ValueError, OverflowError):
        raise _wrong(text, f"`{value}` is not a number of that type") from None


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise _wrong(text, f"`{value}` is not a number") from None


def _wrong(text: str, why: str) -> CallerError:
    return CallerError([Problem(f"the argument `{text}` cannot be used: {why}", hint=f"for example: {EXAMPLE}")])
