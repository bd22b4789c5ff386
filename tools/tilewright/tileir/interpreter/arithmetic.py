"""Element-wise arithmetic on arrays: one function an opcode."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.tileir.interpreter.vector import Array
from tilewright.tileir.vocabulary import Opcode


def truncated_quotient(a: Array, b: Array) -> Array:
    """Integer division towards zero: -7 / 2 = -3; floats divide as usual. Integer division by 0 gives 0."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    quotient = np.asarray(a // b)
    off = (quotient * b != a) & ((a < 0) != (b < 0)) & (b != 0)
    return np.asarray(quotient + off.astype(quotient.dtype))


def truncated_remainder(a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend: -7 % 2 = -1; 0 where the divisor is 0."""
    return np.asarray(np.fmod(a, b))


ARITHMETIC: dict[Opcode, Callable[..., Array]] = {
    Opcode.ADD: np.add,
    Opcode.SUB: np.subtract,
    Opcode.MUL: np.multiply,
    Opcode.DIV: truncated_quotient,
    Opcode.MOD: truncated_remainder,
    Opcode.NEG: np.negative,
    Opcode.MIN: np.fmin,
    Opcode.MAX: np.fmax,
    Opcode.SELECT: np.where,
    Opcode.EQ: np.equal,
    Opcode.NE: np.not_equal,
    Opcode.LT: np.less,
    Opcode.LE: np.less_equal,
    Opcode.GT: np.greater,
    Opcode.GE: np.greater_equal,
    Opcode.AND: np.logical_and,
    Opcode.OR: np.logical_or,
    Opcode.NOT: np.logical_not,
    Opcode.EXP: np.exp,
    Opcode.LOG: np.log,
    Opcode.SQRT: np.sqrt,
    Opcode.TANH: np.tanh,
    Opcode.ABS: np.abs,
}
"""All opcodes but CAST, which needs the element of its result."""
