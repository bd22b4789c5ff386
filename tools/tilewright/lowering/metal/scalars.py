"""Scalars of the emitted program: MSL text with the interval an integer lies in.

An i64 whose interval fits 32 bits is held in an `int`; the interval also proves guards away. Integer arithmetic
wraps, as in TileIR: where a result may leave its type the text goes through an unsigned word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.lowering.metal.msl import INT, TYPES, WORDS, float_literal, integer_literal
from tilewright.tileir.types import Element

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scalar:
    """`text` is a name, a literal or a parenthesised expression of type `word`; integers lie in `interval`."""

    text: str
    element: Element
    interval: Interval = (0, 0)

    @property
    def is_narrow(self) -> bool:
        """An i64 that is held in an int."""
        return self.element is Element.I64 and within(self.interval, INT)

    @property
    def word(self) -> str:
        """The MSL type the value is held in."""
        return "int" if self.is_narrow else TYPES[self.element]

    @property
    def fixed(self) -> int | None:
        """The value of an integer that is known."""
        known = self.element.is_integer and self.interval[0] == self.interval[1]
        return self.interval[0] if known else None


def within(interval: Interval, bounds: Interval) -> bool:
    return bounds[0] <= interval[0] and interval[1] <= bounds[1]


def constant(value: bool | int | float | str, element: Element) -> Scalar:
    """A literal of that element."""
    if element.is_bool:
        return Scalar("true" if value else "false", element)
    if element.is_float:
        return Scalar(float_literal(float(value)), element)
    return integer(int(value), element)


def integer(value: int, element: Element = Element.I64) -> Scalar:
    return Scalar(integer_literal(value, element), element, (value, value))


def index(name: str, extent: int) -> Scalar:
    """A coordinate of 0 to extent-1 by name; a single point is the literal 0."""
    return Scalar(name, Element.I64, (0, extent - 1)) if extent > 1 else integer(0)


def unknown(name: str, element: Element) -> Scalar:
    """A variable of which only the element is known."""
    return Scalar(name, element, element.integer_range() if element.is_integer else (0, 0))


def held_as(value: Scalar, word: str) -> str:
    """The text of a value as another MSL type."""
    return value.text if value.word == word else f"{word}({value.text})"


def add(a: Scalar, b: Scalar) -> Scalar:
    if a.fixed == 0:
        return b
    if b.fixed == 0:
        return a
    return combined("+", a, b, (a.interval[0] + b.interval[0], a.interval[1] + b.interval[1]))


def subtract(a: Scalar, b: Scalar) -> Scalar:
    return combined("-", a, b, (a.interval[0] - b.interval[1], a.interval[1] - b.interval[0]))


def multiply(a: Scalar, b: Scalar) -> Scalar:
    corners = [x * y for x in a.interval for y in b.interval]
    return combined("*", a, b, (min(corners), max(corners)))


def combined(sign: str, a: Scalar, b: Scalar, exact: Interval) -> Scalar:
    """A sum, difference or product of two integers of one element, whose exact value lies in `exact`."""
    element = a.element
    bounds = element.integer_range()
    if exact[0] == exact[1] and within(exact, bounds):
        return integer(exact[0], element)
    if not within(exact, bounds):
        unsigned = WORDS[element.size]
        text = f"{TYPES[element]}({unsigned}({a.text}) {sign} {unsigned}({b.text}))"
        return Scalar(text, element, bounds)
    result = Scalar("", element, exact)
    return replace(result, text=computed(sign, a, b, result))


def computed(sign: str, a: Scalar, b: Scalar, result: Scalar) -> str:
    """The text of an exact operation, in a type wide enough for operands and result."""
    if a.element is not Element.I64:
        return f"{result.word}({a.text} {sign} {b.text})"
    wide = "long" if not (a.is_narrow and b.is_narrow and result.is_narrow) else "int"
    text = f"({held_as(a, wide)} {sign} {held_as(b, wide)})"
    return text if result.word == wide else f"{result.word}{text}"


def flat_index(indices: tuple[Scalar, ...], strides: tuple[int, ...]) -> str:
    """The row-major offset in a space of fewer than 2**31 elements, as an int expression."""
    terms: list[str] = []
    offset = 0
    for place, stride in zip(indices, strides, strict=True):
        if place.fixed is not None:
            offset += place.fixed * stride
        else:
            terms.append(held_as(place, "int") if stride == 1 else f"{held_as(place, 'int')} * {stride}")
    if offset or not terms:
        terms.append(str(offset))
    return " + ".join(terms)
