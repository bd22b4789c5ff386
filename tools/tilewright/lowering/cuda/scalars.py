"""Scalars of the emitted program: C text with what is known about the value.

An i64 whose interval fits 32 bits is held in an `int`; the interval also proves guards away, and the known divisor
proves alignment. Arithmetic of integers wraps, as in TileIR: where a result may leave its type the text is unsigned.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace

from tilewright.tileir.types import Element

C_TYPES = {
    Element.BOOL: "bool",
    Element.I8: "signed char",
    Element.U8: "unsigned char",
    Element.I16: "short",
    Element.U16: "unsigned short",
    Element.I32: "int",
    Element.U32: "unsigned int",
    Element.I64: "long long",
    Element.U64: "unsigned long long",
    Element.F32: "float",
    Element.F64: "double",
}
"""The element types this backend computes in."""

INT = Element.I32.integer_range()
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scalar:
    """`text` is a name, a literal or a parenthesised expression of type `c_type`.

    Integers lie in `interval` and are multiples of `multiple`. `lane` numbers the elements of a vector whose first
    one has the index `base`.
    """

    text: str
    element: Element
    interval: Interval = (0, 0)
    multiple: int = 1
    base: Scalar | None = None
    lane: int = 0

    @property
    def is_narrow(self) -> bool:
        """An i64 that is held in an int."""
        return self.element is Element.I64 and fits(self.interval, INT)

    @property
    def c_type(self) -> str:
        return "int" if self.is_narrow else C_TYPES[self.element]

    @property
    def is_zero(self) -> bool:
        return self.element.is_integer and self.interval == (0, 0)


def fits(interval: Interval, bounds: Interval) -> bool:
    return bounds[0] <= interval[0] and interval[1] <= bounds[1]


def constant(value: bool | int | float | str, element: Element) -> Scalar:
    """A literal of that element type."""
    if element.is_bool:
        return Scalar("true" if value else "false", element)
    if element.is_float:
        return Scalar(float_literal(float(value), element), element)
    return integer_constant(int(value), element)


def integer_constant(value: int, element: Element = Element.I64) -> Scalar:
    """A literal integer; the known divisor of 0 is 0."""
    return Scalar(integer_literal(value, element), element, (value, value), abs(value))


def integer_literal(value: int, element: Element) -> str:
    """7, (-7), 5000000000ll, 7u: of the C type the value is held in."""
    if element in (Element.I64, Element.U64) and not (element is Element.I64 and fits((value, value), INT)):
        suffix = "ll" if element is Element.I64 else "ull"
        if value == Element.I64.integer_range()[0]:
            return f"({value + 1}{suffix} - 1)"
        return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"
    if value == INT[0]:
        return f"({value + 1} - 1)"
    suffix = "u" if element is Element.U32 else ""
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"


def float_literal(value: float, element: Element) -> str:
    """Shortest text that rounds to the value in that element; infinities and NaN by their bits."""
    if element is Element.F64:
        if math.isfinite(value):
            return value_text(value)
        return f"__longlong_as_double({integer_literal(struct.unpack('<q', struct.pack('<d', value))[0], Element.I64)})"
    try:
        bits = struct.pack("<f", value)
    except OverflowError:
        bits = struct.pack("<f", math.copysign(math.inf, value))
    rounded = struct.unpack("<f", bits)[0]
    if math.isfinite(rounded):
        return value_text(rounded, "f")
    return f"__int_as_float(0x{struct.unpack('<I', bits)[0]:08x})"


def value_text(value: float, suffix: str = "") -> str:
    """A finite float as a C literal, in parentheses when negative (also for -0.0)."""
    text = value.hex() if suffix and not short(value) else repr(value)
    return f"({text}{suffix})" if math.copysign(1.0, value) < 0 else f"{text}{suffix}"


def short(value: float) -> bool:
    """Whether the decimal text of an f32 is easy to read."""
    return len(repr(value)) <= 8


def along(name: str, extent: int, *, step: int = 1) -> Scalar:
    """A loop variable or coordinate of 0 to extent-1 in that step; a single point is the literal 0."""
    if extent <= 1:
        return integer_constant(0)
    return Scalar(name, Element.I64, (0, extent - step), step)


def lanes(first: Scalar, count: int) -> list[Scalar]:
    """first, first + 1, ...: the elements of a vector along one axis."""
    return [
        replace(
            first if lane == 0 else add(first, integer_constant(lane)),
            base=first,
            lane=lane,
        )
        for lane in range(count)
    ]


def add(a: Scalar, b: Scalar) -> Scalar:
    """a + b of two integers of one element; adding a literal 0 is dropped."""
    if a.is_zero:
        return replace(b, base=None, lane=0)
    if b.is_zero:
        return replace(a, base=None, lane=0)
    exact = (a.interval[0] + b.interval[0], a.interval[1] + b.interval[1])
    return integer("+", a, b, exact, math.gcd(a.multiple, b.multiple))


def subtract(a: Scalar, b: Scalar) -> Scalar:
    exact = (a.interval[0] - b.interval[1], a.interval[1] - b.interval[0])
    return integer("-", a, b, exact, math.gcd(a.multiple, b.multiple))


def multiply(a: Scalar, b: Scalar) -> Scalar:
    corners = [x * y for x in a.interval for y in b.interval]
    return integer("*", a, b, (min(corners), max(corners)), a.multiple * b.multiple)


def integer(sign: str, a: Scalar, b: Scalar, exact: Interval, multiple: int) -> Scalar:
    """The sum, difference or product whose exact value lies in `exact`; wraps when that leaves the element type."""
    element = a.element
    bounds = element.integer_range()
    if exact[0] == exact[1] and fits(exact, bounds):
        return integer_constant(exact[0], element)
    if not fits(exact, bounds):
        word = "unsigned long long" if element.size == 8 else "unsigned int"
        wrapped = f"({C_TYPES[element]})(({word}){a.text} {sign} ({word}){b.text})"
        return Scalar(f"({wrapped})", element, bounds, 1)
    if element is Element.I64:
        return whole(f"{a.text} {sign} {b.text}", a, b, exact, multiple)
    return Scalar(f"(({C_TYPES[element]})({a.text} {sign} {b.text}))", element, exact, multiple)


def whole(text: str, a: Scalar, b: Scalar, exact: Interval, multiple: int) -> Scalar:
    """An exact i64 result, in the narrowest type that holds it."""
    result = Scalar("", Element.I64, exact, multiple)
    if a.is_narrow and b.is_narrow and not result.is_narrow:
        return replace(result, text=f"((long long){text})")
    if result.is_narrow and not (a.is_narrow and b.is_narrow):
        return replace(result, text=f"((int)({text}))")
    return replace(result, text=f"({text})")


def converted(a: Scalar, c_type: str) -> str:
    """The text of a value as another C type, without a cast it does not need."""
    return a.text if a.c_type == c_type else f"(({c_type}){a.text})"


def as_int(a: Scalar) -> str:
    """An index that is known to lie in an array of fewer than 2**31 elements, as an int."""
    return converted(a, "int")


def flat_index(indices: tuple[Scalar, ...], strides: tuple[int, ...]) -> tuple[str, int]:
    """The row-major offset as C text and its known divisor; the whole sum fits an int."""
    terms: list[str] = []
    multiple, offset = 0, 0
    for index, stride in zip(indices, strides, strict=True):
        multiple = math.gcd(multiple, index.multiple * stride)
        if index.interval[0] == index.interval[1]:
            offset += index.interval[0] * stride
        else:
            terms.append(as_int(index) if stride == 1 else f"{as_int(index)} * {stride}")
    if offset or not terms:
        terms.append(str(offset))
    return " + ".join(terms), multiple
