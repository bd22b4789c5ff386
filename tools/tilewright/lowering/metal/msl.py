"""The spelling of MSL: type names, literals, symbols. No name of a user reaches the text unchanged."""

from __future__ import annotations

import math
import re
import struct

from tilewright.tileir.types import Element

TYPES = {
    Element.BOOL: "bool",
    Element.I8: "char",
    Element.U8: "uchar",
    Element.I16: "short",
    Element.U16: "ushort",
    Element.I32: "int",
    Element.U32: "uint",
    Element.I64: "long",
    Element.U64: "ulong",
    Element.F32: "float",
}
"""The element types computed in. Metal has no double."""

WORDS = {8: "ulong", 4: "uint", 2: "uint", 1: "uint"}
"""Where arithmetic of that many bytes wraps without being undefined."""

INT = Element.I32.integer_range()


def integer_literal(value: int, element: Element) -> str:
    """7, (-7), 5000000000L, 7u; an i64 that fits an int is an int literal."""
    if value == -(2**63):
        return f"({integer_literal(value + 1, element)} - 1)"
    if element is Element.I64 and not INT[0] <= value <= INT[1]:
        suffix = "L"
    elif value == INT[0]:
        return f"({value + 1} - 1)"
    else:
        suffix = {Element.U64: "UL", Element.U32: "u"}.get(element, "")
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def float_literal(value: float) -> str:
    """The shortest decimal that rounds to that f32, with its `f`; infinities and NaN by their bits."""
    rounded = as_f32(value)
    if not math.isfinite(rounded):
        bits = struct.unpack("<I", struct.pack("<f", rounded))[0]
        return f"as_type<float>(0x{bits:08x}u)"
    text = next(text for digits in range(1, 10) if as_f32(float(text := f"{rounded:.{digits}g}")) == rounded)
    if not set(text) & set(".e"):
        text += ".0"
    return f"({text}f)" if math.copysign(1.0, rounded) < 0 else f"{text}f"


def as_f32(value: float) -> float:
    """The nearest f32, infinite where that overflows."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def entry_symbol(name: str) -> str:
    """`tile_` and the kernel's name, other characters as their hexadecimal code: never a word of the language."""
    return "tile_" + re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found[0]):x}_", name)
