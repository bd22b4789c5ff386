"""Element-wise functions of the DSL. `abs`, `where`, ... work on tiles and scalars alike."""

from __future__ import annotations

from tilewright.tile.capture import current
from tilewright.tile.handles import Handle, Operand, combine, operand, wrap
from tilewright.tileir.types import Element
from tilewright.tileir.vocabulary import Opcode


def where(condition: Operand, if_true: Operand, if_false: Operand) -> Handle:
    """if_true where the condition holds, else if_false; both are computed."""
    return combine(Opcode.SELECT, condition, if_true, if_false)


def exp(x: Handle) -> Handle:
    """e to the power of x."""
    return combine(Opcode.EXP, x)


def log(x: Handle) -> Handle:
    """Natural logarithm."""
    return combine(Opcode.LOG, x)


def sqrt(x: Handle) -> Handle:
    """Square root; NaN for negative numbers."""
    return combine(Opcode.SQRT, x)


def tanh(x: Handle) -> Handle:
    """Hyperbolic tangent."""
    return combine(Opcode.TANH, x)


def abs(x: Handle) -> Handle:
    """Magnitude, of integers too."""
    return combine(Opcode.ABS, x)


def minimum(a: Operand, b: Operand) -> Handle:
    """The smaller of two, element by element; a NaN loses."""
    return combine(Opcode.MIN, a, b)


def maximum(a: Operand, b: Operand) -> Handle:
    """The larger of two, element by element; a NaN loses."""
    return combine(Opcode.MAX, a, b)


def cast(x: Handle, element: Element) -> Handle:
    """x in another element type; from float to integer it truncates."""
    capture = current()
    value = operand(capture, x, None)
    with capture.writing() as build:
        return wrap(capture, build.cast(value, element))
