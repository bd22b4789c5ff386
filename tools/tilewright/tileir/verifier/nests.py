"""V22 and the order of scopes: what may end a block and how concrete scopes nest."""

from __future__ import annotations

from tilewright.tileir.graph import Operation
from tilewright.tileir.types import ScalarType, Type, element_of
from tilewright.tileir.verifier.faults import Problems, fault, listed
from tilewright.tileir.vocabulary import ORDERED_NESTS, Kind


def misplaced_yield(operation: Operation) -> Problems:
    """V22: a yield gives nothing, is the last of its block, and the block belongs to an operation."""
    if operation.kind is not Kind.YIELD:
        return
    if operation.results:
        yield fault(operation, "has results")
    if operation.parent_operation is None:
        yield fault(operation, "stands outside every nest and map")
    elif operation.parent is not None and operation.parent.operations[-1] is not operation:
        yield fault(operation, "is not the last operation of its block")


def missing_yield(operation: Operation) -> Problems:
    """V22: a nest that carries values ends in a yield."""
    if operation.kind in ORDERED_NESTS and operation.results:
        last = operation.body.operations[-1:]
        if not last or last[0].kind is not Kind.YIELD:
            yield fault(operation, f"carries {len(operation.results)} values but does not end in a yield")


def yield_mismatch(operation: Operation) -> Problems:
    """V22: a yield has the types of the results of its parent; for a map, one scalar of the element of the tile."""
    parent = operation.parent_operation
    if operation.kind is not Kind.YIELD or parent is None:
        return
    wanted: list[Type] = [value.type for value in parent.results]
    if parent.kind is Kind.TILE_MAP:
        elements = [element_of(value.type) for value in parent.results]
        wanted = [ScalarType(element) for element in elements if element is not None]
    found = [value.type for value in operation.operands]
    if found != wanted:
        yield fault(operation, f"yields {listed(found)}; `{parent.kind.value}` needs {listed(wanted)}")


def scope_out_of_order(operation: Operation) -> Problems:
    """A.4: concrete scopes nest in the order device, group, subgroup, worker, vector."""
    if operation.scope is None:
        return
    outer = next((each.scope for each in operation.ancestors() if each.scope is not None), None)
    if outer is not None and outer.depth >= operation.scope.depth:
        what = f"scope {operation.scope.value} inside {outer.value} breaks the containment order"
        yield fault(operation, what, "device > group > subgroup > worker > vector")
