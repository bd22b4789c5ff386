"""Coordinates of a native kernel: text and interval of every i64 scalar, from + - * of nest coordinates alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from tilewright.lowering.metal.arithmetic import apply
from tilewright.lowering.metal.function_checks import fault
from tilewright.lowering.metal.scalars import Scalar, index, integer, within
from tilewright.problem import Problem
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.ops.values import Constant, Elementwise
from tilewright.tileir.types import Element, element_of, is_scalar
from tilewright.tileir.vocabulary import Kind, Opcode

I64 = Element.I64.integer_range()
EXACT = {
    Opcode.ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    Opcode.SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    Opcode.MUL: lambda a, b: (min(x * y for x in a for y in b), max(x * y for x in a for y in b)),
}


class Coordinates:
    """What stands for each index value; filled in by one walk, faults in `problems`."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.problems: list[Problem] = []
        self._known: dict[Value, Scalar] = {}

    def of(self, value: Value) -> Scalar | None:
        """The scalar of an index value; None when it had a fault."""
        return self._known.get(value)

    def enter(self, nest: Parallel, linear: str) -> None:
        """The coordinates of a nest from the flat number of its instance, by mixed radix."""
        shape = nest.space.shape
        flat = index(linear, prod(shape))
        for axis, (coordinate, extent) in enumerate(zip(nest.coordinates, shape, strict=True)):
            place = apply(Opcode.DIV, (flat, integer(prod(shape[axis + 1 :]))), Element.I64)
            self._known[coordinate] = apply(Opcode.MOD, (place, integer(extent)), Element.I64)

    def scalar(self, operation: Operation) -> None:
        """A constant or + - * of coordinates (B164, B166)."""
        self.problems += self._faults(operation)

    def _faults(self, operation: Operation) -> Iterator[Problem]:
        value = operation.results[0]
        kind = element_of(value.type)
        if operation.kind is Kind.CONSTANT:
            if kind is Element.I64:
                self._known.update(dict.fromkeys(operation.results, integer(int(cast(Constant, operation).value))))
            return
        code = cast(Elementwise, operation).code
        if not is_scalar(value.type):
            what = f"`{code.label}` of a tile: a tile epilogue is unsupported by native MPP"
            yield fault(self.function, what, "mpp-epilogue", "store the product itself", operation)
            return
        operands = [self._known.get(each) for each in operation.operands]
        if code not in EXACT or kind is not Element.I64:
            what = f"coordinate arithmetic is + - * of i64; `{code.label}` of {kind} is worker-level computation"
            yield fault(
                self.function, what, "mpp-coordinate", "origins are products and sums of coordinates", operation
            )
        elif all(operands):
            a, b = (each for each in operands if each is not None)
            if within(EXACT[code](a.interval, b.interval), I64):
                self._known[value] = apply(code, (a, b), Element.I64)
            else:
                what = f"a coordinate may overflow: `{code.label}` of {a.interval} and {b.interval}"
                yield fault(self.function, what, "mpp-coordinate", operation=operation)
