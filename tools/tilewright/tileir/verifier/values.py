"""V10 and V12 to V17: types of constants, element-wise arithmetic, element reads, generators and contraction."""

from __future__ import annotations

from typing import cast

from tilewright.tileir.broadcast import contraction, type_broadcasts
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Attribute, Operation, walk
from tilewright.tileir.ops.values import Extract, Mma
from tilewright.tileir.types import Element, ScalarType, element_of, is_integer_scalar, space_of
from tilewright.tileir.verifier.faults import Problems, fault, listed
from tilewright.tileir.vocabulary import MEMORY_EFFECTS, Kind, Opcode


def constant_without_value(operation: Operation) -> Problems:
    """V10: the attribute `value` is there and is a value of the element: a bool, an integer in range, a float."""
    if operation.kind is not Kind.CONSTANT:
        return
    for result in operation.results:
        element = element_of(result.type)
        value = operation.attributes.get("value")
        if element is not None and not fits(value, element):
            yield fault(operation, f"value {value!r} is no {element}")


def fits(value: Attribute | None, element: Element) -> bool:
    """Whether a constant of that element may hold the value: 1 is no f32, True no i32, 300 no u8."""
    if element.is_bool:
        return isinstance(value, bool)
    if element.is_float:
        return isinstance(value, float)
    low, high = element.integer_range()
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def cast_changes_shape(operation: Operation) -> Problems:
    """V12: a cast keeps scalars scalar and tiles over their space."""
    if operation.opcode is not Opcode.CAST:
        return
    source, target = space_of(operation.operands[0].type), space_of(operation.result.type)
    if source != target:
        yield fault(operation, f"turns {operation.operands[0].type} into {operation.result.type}")


def select_mismatch(operation: Operation) -> Problems:
    """V12: select takes a bool condition and two values of the element of the result."""
    if operation.opcode is not Opcode.SELECT:
        return
    condition, *chosen = (element_of(value.type) for value in operation.operands)
    if condition is not Element.BOOL:
        yield fault(operation, f"the condition is {condition}, not bool")
    if any(element is not element_of(operation.result.type) for element in chosen):
        yield fault(operation, f"chooses between {listed(chosen)} for {element_of(operation.result.type)}")


def logic_on_other_than_bool(operation: Operation) -> Problems:
    """V12: and, or, not take and give bool."""
    if operation.opcode is None or operation.opcode.family != "logical":
        return
    elements = [element_of(value.type) for value in (*operation.operands, operation.result)]
    if any(element is not Element.BOOL for element in elements):
        yield fault(operation, f"is for bool, not for {listed(elements)}")


def comparison_mismatch(operation: Operation) -> Problems:
    """V12: a comparison takes two values of one element and gives bool."""
    if operation.opcode is None or operation.opcode.family != "comparison":
        return
    left, right = (element_of(value.type) for value in operation.operands)
    if left is not right:
        yield fault(operation, f"compares {left} with {right}", "cast one of them")
    if element_of(operation.result.type) is not Element.BOOL:
        yield fault(operation, f"gives bool, not {operation.result.type}")


def arithmetic_mismatch(operation: Operation) -> Problems:
    """V12: arithmetic takes and gives one element."""
    if operation.opcode is None or operation.opcode.family not in ("arithmetic", "float", "integer"):
        return
    elements = [element_of(value.type) for value in (*operation.operands, operation.result)]
    if len(set(elements)) != 1:
        yield fault(operation, f"mixes {listed(elements)}", "cast to one element type")


def arithmetic_on_bool(operation: Operation) -> Problems:
    """V12: arithmetic is not for bool."""
    if operation.opcode is None or operation.opcode.family != "arithmetic":
        return
    if any(element_of(value.type) is Element.BOOL for value in operation.operands):
        yield fault(operation, "is not for bool", "use select, and, or, not")


def not_a_float(operation: Operation) -> Problems:
    """V12: exp, log, sqrt and tanh are for floats."""
    if operation.opcode is not None and operation.opcode.family == "float":
        element = element_of(operation.operands[0].type)
        if element is None or not element.is_float:
            yield fault(operation, f"is for floats, not for {element}")


def not_an_integer(operation: Operation) -> Problems:
    """V12: mod is for integers."""
    if operation.opcode is not None and operation.opcode.family == "integer":
        element = element_of(operation.operands[0].type)
        if element is None or not element.is_integer:
            yield fault(operation, f"is for integers, not for {element}")


def not_broadcastable(operation: Operation) -> Problems:
    """V13: every dim of an operand is in the result with equal extent or 1; a tile never becomes a scalar."""
    if operation.opcode is None or operation.opcode is Opcode.CAST:
        return
    for place, value in enumerate(operation.operands):
        if not type_broadcasts(value.type, operation.result.type):
            yield fault(operation, f"operand {place}, {value.type}, does not broadcast to {operation.result.type}")


def extract_mismatch(operation: Operation) -> Problems:
    """V14: integer indices; the result is a scalar of the element of the tile."""
    if operation.kind is not Kind.EXTRACT:
        return
    read = cast(Extract, operation)
    for place, index in enumerate(read.indices):
        if not is_integer_scalar(index.type):
            yield fault(operation, f"index {place} is {index.type}, not an integer")
    element = element_of(read.tile.type)
    if element is not None and read.result.type != ScalarType(element):
        yield fault(operation, f"gives {element}, not {read.result.type}")


def effect_in_map(operation: Operation) -> Problems:
    """V16: no memory effect anywhere inside a tile.map, nor a parallel, which is there for effects only."""
    if operation.kind is Kind.TILE_MAP:
        for region in operation.regions:
            for inner in walk(region):
                if inner.kind in MEMORY_EFFECTS or inner.kind is Kind.PARALLEL:
                    yield fault(inner, "memory effect inside a tile.map; generators are pure", "load before the map")


def no_contraction(operation: Operation) -> Problems:
    """V17: every dim is in two operands or in all three, with one extent, and at least one is in a and b only."""
    if operation.kind is not Kind.MMA:
        return
    product = cast(Mma, operation)
    a, b, c = (space_of(value.type) or IndexSpace() for value in (product.a, product.b, product.c))
    if contraction(a, b, c) is None:
        what = f"{a} x {b} + {c} is no valid contraction"
        yield fault(operation, what, "a over (m, k), b over (k, n), c over (m, n)")


def mma_mismatch(operation: Operation) -> Problems:
    """V17: a, b and c have one element type, a number."""
    if operation.kind is Kind.MMA:
        elements = [element_of(value.type) for value in operation.operands]
        if len(set(elements)) != 1 or elements[0] is Element.BOOL:
            yield fault(operation, f"multiplies {listed(elements)}", "cast to one element type")
