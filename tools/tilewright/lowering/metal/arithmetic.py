"""Element-wise operations on scalars: one rule an opcode. Nothing here reassociates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.lowering.metal.msl import TYPES
from tilewright.lowering.metal.scalars import (
    Interval,
    Scalar,
    add,
    constant,
    held_as,
    integer,
    multiply,
    subtract,
    unknown,
    within,
)
from tilewright.tileir.types import Element
from tilewright.tileir.vocabulary import Opcode

Rule = Callable[[tuple[Scalar, ...], Element], Scalar]


def apply(opcode: Opcode, operands: tuple[Scalar, ...], element: Element) -> Scalar:
    """The value of one element; `element` is that of the result."""
    return RULES[opcode](operands, element)


def binary(sign: str, whole: Callable[[Scalar, Scalar], Scalar]) -> Rule:
    """A floating-point operator, or its counterpart for integers."""

    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        a, b = operands
        return Scalar(f"({a.text} {sign} {b.text})", element) if element.is_float else whole(a, b)

    return rule


def call(name: str) -> Rule:
    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        return Scalar(f"{name}({', '.join(each.text for each in operands)})", element)

    return rule


def compare(sign: str) -> Rule:
    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        a, b = operands
        if a.element is Element.I64 and a.word != b.word:
            return Scalar(f"({held_as(a, 'long')} {sign} {held_as(b, 'long')})", element)
        return Scalar(f"({a.text} {sign} {b.text})", element)

    return rule


def quotient(a: Scalar, b: Scalar) -> Scalar:
    """Integer division towards zero; 0 where the divisor is 0."""
    low, high = b.interval
    if low > 0:
        corners = [truncated(x, y) for x in a.interval for y in (low, high)]
        return exact("/", a, b, (min(corners), max(corners)))
    return checked("/", a, b, negated(a))


def remainder(a: Scalar, b: Scalar) -> Scalar:
    """The remainder with the sign of the dividend; 0 where the divisor is 0."""
    low, high = b.interval
    if low > 0:
        bounds = (max(a.interval[0], 1 - high) if a.interval[0] < 0 else 0, max(0, min(a.interval[1], high - 1)))
        return a if a.interval[0] >= 0 and a.interval[1] < low else exact("%", a, b, bounds)
    return checked("%", a, b, integer(0, a.element))


def exact(sign: str, a: Scalar, b: Scalar, interval: Interval) -> Scalar:
    """A division by a positive number."""
    result = Scalar("", a.element, interval)
    wide = "int" if a.is_narrow and b.is_narrow else TYPES[a.element]
    text = f"({held_as(a, wide)} {sign} {held_as(b, wide)})"
    return replace(result, text=text if result.word == wide else f"{result.word}{text}")


def checked(sign: str, a: Scalar, b: Scalar, by_minus_one: Scalar) -> Scalar:
    """A division by what may be 0 or -1: the first gives 0, the second must not overflow."""
    word = TYPES[a.element]
    text = f"{word}({held_as(a, word)} {sign} {held_as(b, word)})"
    if a.element.family == "signed" and within((-1, -1), b.interval):
        text = f"({b.text} == -1 ? {held_as(by_minus_one, word)} : {text})"
    return unknown(f"({b.text} == 0 ? {word}(0) : {text})", a.element)


def truncated(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def negated(a: Scalar) -> Scalar:
    return subtract(integer(0, a.element), a)


def negation(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    (a,) = operands
    return Scalar(f"(-{a.text})", element) if element.is_float else negated(a)


def absolute(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    (a,) = operands
    if element.is_float:
        return Scalar(f"fabs({a.text})", element)
    low, high = a.interval
    if low >= 0:
        return a
    wraps = low == element.integer_range()[0]
    return chosen(f"{a.text} < 0", negated(a), a, None if wraps else (0, max(-low, high)))


def extremum(sign: str, name: str, pick: Callable[[int, int], int]) -> Rule:
    """MIN and MAX: of floats as fmin and fmax, which drop a NaN."""

    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        if element.is_float:
            return call(name)(operands, element)
        a, b = operands
        interval = pick(a.interval[0], b.interval[0]), pick(a.interval[1], b.interval[1])
        return chosen(compare(sign)(operands, Element.BOOL).text, a, b, interval)

    return rule


def select(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    condition, a, b = operands
    if element.is_integer:
        return chosen(condition.text, a, b, None)
    return Scalar(f"({condition.text} ? {a.text} : {b.text})", element)


def chosen(condition: str, a: Scalar, b: Scalar, interval: Interval | None) -> Scalar:
    """`condition ? a : b` of integers; without an interval the union of theirs."""
    both = Scalar("", a.element, (min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1])))
    text = f"({condition} ? {held_as(a, both.word)} : {held_as(b, both.word)})"
    result = replace(both, interval=interval or both.interval)
    return replace(result, text=text if result.word == both.word else f"{result.word}{text}")


def logic(sign: str) -> Rule:
    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        a, b = operands
        return Scalar(f"({a.text} {sign} {b.text})", element)

    return rule


def inverse(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    return Scalar(f"(!{operands[0].text})", element)


def cast(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    """To bool: not equal to 0. From float to integer: truncation. Between integers: wrapping."""
    (a,) = operands
    if element is a.element:
        return a
    if element.is_bool:
        return Scalar(f"({a.text} != {constant(0, a.element).text})", element)
    if element.is_float:
        return Scalar(f"{TYPES[element]}({a.text})", element)
    if a.element.is_float:
        return unknown(f"{TYPES[element]}({a.text})", element)
    interval = (0, 1) if a.element.is_bool else a.interval
    if not within(interval, element.integer_range()):
        return unknown(f"{TYPES[element]}({a.text})", element)
    if interval[0] == interval[1]:
        return integer(interval[0], element)
    result = Scalar("", element, interval)
    return replace(result, text=held_as(a, result.word))


RULES: dict[Opcode, Rule] = {
    Opcode.ADD: binary("+", add),
    Opcode.SUB: binary("-", subtract),
    Opcode.MUL: binary("*", multiply),
    Opcode.DIV: binary("/", quotient),
    Opcode.MOD: lambda operands, _: remainder(*operands),
    Opcode.NEG: negation,
    Opcode.MIN: extremum("<", "fmin", min),
    Opcode.MAX: extremum(">", "fmax", max),
    Opcode.CAST: cast,
    Opcode.SELECT: select,
    Opcode.EQ: compare("=="),
    Opcode.NE: compare("!="),
    Opcode.LT: compare("<"),
    Opcode.LE: compare("<="),
    Opcode.GT: compare(">"),
    Opcode.GE: compare(">="),
    Opcode.AND: logic("&&"),
    Opcode.OR: logic("||"),
    Opcode.NOT: inverse,
    Opcode.EXP: call("exp"),
    Opcode.LOG: call("log"),
    Opcode.SQRT: call("sqrt"),
    Opcode.TANH: call("tanh"),
    Opcode.ABS: absolute,
}
"""Every opcode; all of them are lowered."""
