"""Element-wise operations on scalars: one function an opcode. Nothing here reassociates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tilewright.lowering.cuda.scalars import (
    C_TYPES,
    Interval,
    Scalar,
    add,
    constant,
    converted,
    fits,
    integer_constant,
    integer_literal,
    multiply,
    subtract,
)
from tilewright.tileir.types import Element
from tilewright.tileir.vocabulary import Opcode

Rule = Callable[[tuple[Scalar, ...], Element], Scalar]


def apply(opcode: Opcode, operands: tuple[Scalar, ...], element: Element) -> Scalar:
    """The value of one element; `element` is that of the result."""
    return RULES[opcode](operands, element)


def arithmetic(sign: str, whole: Callable[[Scalar, Scalar], Scalar]) -> Rule:
    """A floating-point operator, or its counterpart for integers."""

    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        a, b = operands
        return Scalar(f"({a.text} {sign} {b.text})", element) if element.is_float else whole(a, b)

    return rule


def call(f32: str, f64: str) -> Rule:
    """A function of the mathematics library, by element."""

    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        name = f64 if element is Element.F64 else f32
        return Scalar(f"{name}({', '.join(each.text for each in operands)})", element)

    return rule


def quotient(a: Scalar, b: Scalar) -> Scalar:
    """Integer division towards zero; 0 where the divisor is 0."""
    low, high = b.interval
    if low > 0:
        corners = [truncated(x, y) for x in a.interval for y in b.interval]
        exact = (min(corners), max(corners))
        divisor = low if low == high else 0
        multiple = a.multiple // divisor if divisor and a.multiple % divisor == 0 else 1
        return exactly(f"{a.text} / {b.text}", a, b, exact, multiple)
    return guarded_division("/", a, b, f"({C_TYPES[a.element]}){negated(a).text}")


def remainder(a: Scalar, b: Scalar) -> Scalar:
    """The remainder with the sign of the dividend; 0 where the divisor is 0."""
    low, high = b.interval
    if low > 0:
        exact = (max(a.interval[0], 1 - high) if a.interval[0] < 0 else 0, min(max(a.interval[1], 0), high - 1))
        if a.interval[0] >= 0 and a.interval[1] < low:
            return a
        return exactly(f"{a.text} % {b.text}", a, b, exact, math.gcd(a.multiple, b.multiple) if low == high else 1)
    return guarded_division("%", a, b, "0")


def exactly(text: str, a: Scalar, b: Scalar, exact: Interval, multiple: int) -> Scalar:
    """An exact integer result of that C expression, held in the narrowest type."""
    result = Scalar(f"({C_TYPES[a.element]})({text})", a.element, exact, multiple)
    if a.element is not Element.I64:
        return replace(result, text=f"({result.text})")
    plain = result.is_narrow == (a.is_narrow and b.is_narrow)
    return replace(result, text=f"({text})" if plain else f"(({result.c_type})({text}))")


def guarded_division(sign: str, a: Scalar, b: Scalar, by_minus_one: str) -> Scalar:
    """Division by a value that may be 0 or -1: the first gives 0, the second must not overflow."""
    element = a.element
    word = C_TYPES[element]
    plain = f"({word})({converted(a, word)} {sign} {converted(b, word)})"
    if element.family == "signed" and b.interval[0] <= -1 <= b.interval[1]:
        plain = f"({b.text} == -1 ? {by_minus_one} : {plain})"
    return Scalar(f"({b.text} == 0 ? ({word})0 : {plain})", element, element.integer_range())


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def negated(a: Scalar) -> Scalar:
    return subtract(integer_constant(0, a.element), a)


def negation(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    (a,) = operands
    return Scalar(f"(-{a.text})", element) if element.is_float else negated(a)


def absolute(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    (a,) = operands
    if element.is_float:
        return Scalar(f"{'fabs' if element is Element.F64 else 'fabsf'}({a.text})", element)
    low, high = a.interval
    if low >= 0:
        return a
    return chosen(f"{a.text} < 0", negated(a), a, (0, max(-low, high)) if low != element.integer_range()[0] else None)


def extremum(sign: str, f32: str, f64: str, pick: Callable[[int, int], int]) -> Rule:
    """MIN and MAX: of floats as fmin and fmax, which drop a NaN."""

    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        if element.is_float:
            return call(f32, f64)(operands, element)
        a, b = operands
        return chosen(
            f"{a.text} {sign} {b.text}", a, b, (pick(a.interval[0], b.interval[0]), pick(a.interval[1], b.interval[1]))
        )

    return rule


def select(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    condition, a, b = operands
    if not element.is_integer:
        return Scalar(f"({condition.text} ? {a.text} : {b.text})", element)
    return chosen(condition.text, a, b, None)


def chosen(condition: str, a: Scalar, b: Scalar, interval: Interval | None) -> Scalar:
    """`condition ? a : b` of integers, both brought to one C type; without an interval the union of theirs."""
    both = (min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1]))
    wide = Scalar("", a.element, both)
    text = f"({condition} ? {converted(a, wide.c_type)} : {converted(b, wide.c_type)})"
    result = Scalar(text, a.element, interval or both, math.gcd(a.multiple, b.multiple))
    return result if result.c_type == wide.c_type else replace(result, text=f"(({result.c_type}){text})")


def comparison(sign: str) -> Rule:
    def rule(operands: tuple[Scalar, ...], element: Element) -> Scalar:
        a, b = operands
        return Scalar(f"({a.text} {sign} {b.text})", element)

    return rule


def logical_not(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    return Scalar(f"(!{operands[0].text})", element)


def cast(operands: tuple[Scalar, ...], element: Element) -> Scalar:
    """To bool: not equal to 0. From float to integer: truncation. Between integers: wrapping."""
    (a,) = operands
    if element is a.element:
        return a
    if element.is_bool:
        return Scalar(f"({a.text} != {constant(0, a.element).text})", element)
    if element.is_float:
        return Scalar(f"(({C_TYPES[element]}){a.text})", element)
    if a.element.is_float:
        return Scalar(f"(({C_TYPES[element]}){a.text})", element, element.integer_range())
    interval = (0, 1) if a.element.is_bool else a.interval
    if not fits(interval, element.integer_range()):
        return Scalar(f"(({C_TYPES[element]}){a.text})", element, element.integer_range())
    if interval[0] == interval[1]:
        return replace(integer_constant(interval[0], element), text=integer_literal(interval[0], element))
    result = Scalar("", element, interval, 1 if a.element.is_bool else a.multiple)
    return replace(result, text=converted(a, result.c_type))


RULES: dict[Opcode, Rule] = {
    Opcode.ADD: arithmetic("+", add),
    Opcode.SUB: arithmetic("-", subtract),
    Opcode.MUL: arithmetic("*", multiply),
    Opcode.DIV: arithmetic("/", quotient),
    Opcode.MOD: lambda operands, _: remainder(*operands),
    Opcode.NEG: negation,
    Opcode.MIN: extremum("<", "fminf", "fmin", min),
    Opcode.MAX: extremum(">", "fmaxf", "fmax", max),
    Opcode.CAST: cast,
    Opcode.SELECT: select,
    Opcode.EQ: comparison("=="),
    Opcode.NE: comparison("!="),
    Opcode.LT: comparison("<"),
    Opcode.LE: comparison("<="),
    Opcode.GT: comparison(">"),
    Opcode.GE: comparison(">="),
    Opcode.AND: comparison("&&"),
    Opcode.OR: comparison("||"),
    Opcode.NOT: logical_not,
    Opcode.EXP: call("expf", "exp"),
    Opcode.LOG: call("logf", "log"),
    Opcode.SQRT: call("sqrtf", "sqrt"),
    Opcode.TANH: call("tanhf", "tanh"),
    Opcode.ABS: absolute,
}
"""Every opcode; all of them are lowered."""
