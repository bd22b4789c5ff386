"""V18: types of accesses to views."""

from __future__ import annotations

from typing import cast

from tilewright.tileir.errors import known
from tilewright.tileir.graph import Operation
from tilewright.tileir.ops.views import LoadElement, LoadTile, StoreElement, StoreTile, ViewAccess
from tilewright.tileir.types import BOOL, ScalarType, TileType, Type, element_of, is_integer_scalar
from tilewright.tileir.verifier.faults import Problems, fault


def index_not_an_integer(operation: Operation) -> Problems:
    """V18: indices and origins are integers."""
    if isinstance(operation, ViewAccess):
        for place, index in enumerate(operation.origins):
            if not is_integer_scalar(index.type):
                yield fault(operation, f"index {place} is {index.type}, not an integer")


def access_mismatch(operation: Operation) -> Problems:
    """V18: a load gives, a store takes, exactly the element of the view, over exactly the domain for tiles."""
    if not isinstance(operation, ViewAccess):
        return
    element = known(element_of(operation.view.type), operation)
    wanted: Type = ScalarType(element)
    if operation.domain is not None:
        wanted = TileType(element, operation.domain)
    stores = isinstance(operation, StoreTile | StoreElement)
    found = cast(StoreTile, operation).stored if stores else operation.result
    if found.type != wanted:
        yield fault(operation, f"{'takes' if stores else 'gives'} {wanted}, not {found.type}")


def guard_mismatch(operation: Operation) -> Problems:
    """V18: a predicate is bool; a fill or fallback is a scalar of the element of the view."""
    if isinstance(operation, LoadElement) and operation.predicate is not None and operation.predicate.type != BOOL:
        yield fault(operation, f"the predicate is {operation.predicate.type}, not bool")
    other = None
    if isinstance(operation, LoadTile):
        other = operation.fill
    elif isinstance(operation, LoadElement):
        other = operation.fallback
    if isinstance(operation, ViewAccess) and other is not None:
        element = element_of(operation.view.type)
        if element is not None and other.type != ScalarType(element):
            yield fault(operation, f"fills with {other.type}, not with {element}")
