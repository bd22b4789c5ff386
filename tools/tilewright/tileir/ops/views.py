"""Accesses to external tensors. Operand 0 is always the view; a load is a snapshot at its place in the program."""

from __future__ import annotations

from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.types import space_of
from tilewright.tileir.vocabulary import Bounds, Kind


class ViewAccess(Operation):
    """What the four accesses share: the view and one integer index an axis of it."""

    @property
    def view(self) -> Value:
        return self.operands[0]

    @property
    def rank(self) -> int:
        space = space_of(self.view.type)
        return space.rank if space else 0

    @property
    def origins(self) -> tuple[Value, ...]:
        """One integer scalar an axis of the view; may lie outside it where the access is guarded."""
        return self.operands[1 : 1 + self.rank]


class LoadElement(ViewAccess):
    """`view.load_element(view, index... [, predicate, fallback]) : scalar`: in bounds by promise.

    With a predicate that is false the result is the fallback and memory is not touched.
    """

    kind = Kind.LOAD_ELEMENT

    @property
    def predicate(self) -> Value | None:
        return self.operands[1 + self.rank] if len(self.operands) > 1 + self.rank else None

    @property
    def fallback(self) -> Value | None:
        return self.operands[2 + self.rank] if len(self.operands) > 2 + self.rank else None


class StoreElement(ViewAccess):
    """`view.store_element(view, index..., scalar)`: in bounds by promise."""

    kind = Kind.STORE_ELEMENT

    @property
    def stored(self) -> Value:
        return self.operands[1 + self.rank]


class LoadTile(ViewAccess):
    """`view.load(view, origin... [, fill]) [domain] bounds zero : tile`: element e reads view[origin + e].

    The domain has one axis a view axis, in the order of the view. `zero`: outside the view the element is `fill`, or
    0; `assume`: the caller promises that nothing lies outside.
    """

    kind = Kind.LOAD_TILE

    @property
    def fill(self) -> Value | None:
        return self.operands[1 + self.rank] if len(self.operands) > 1 + self.rank else None

    @property
    def guarded(self) -> bool:
        return self.bounds is Bounds.ZERO


class StoreTile(ViewAccess):
    """`view.store(view, origin..., tile) [domain] bounds zero`: with `zero`, elements outside the view are dropped."""

    kind = Kind.STORE_TILE

    @property
    def stored(self) -> Value:
        return self.operands[1 + self.rank]

    @property
    def guarded(self) -> bool:
        return self.bounds is Bounds.ZERO


OPERATIONS = (LoadElement, StoreElement, LoadTile, StoreTile)
