"""Which tiles get a private array: a pure tile that several consumers read is computed once, if that is worth it.

Immutable views may be read again at any time, since no writable argument may overlap another one; a view that the
kernel also writes is always copied where it is loaded.
"""

from __future__ import annotations

from math import prod
from typing import cast

from tilewright.tileir.broadcast import contraction
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Block, Function, Operation, Use, Value, walk
from tilewright.tileir.ops.values import Elementwise, Mma
from tilewright.tileir.types import TileType, space_of
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import ORDERED_NESTS, Kind, Opcode

REGISTERS = 128
"""A tile of up to this many elements may live in registers: its loops are unrolled."""
EXPENSIVE = 16
"""Cost of an element from which a large tile is kept in local memory rather than computed again."""
WORTH_A_REGISTER = 3
DEEPEST = 40
"""Tiles computed one inside the other, at most: a longer chain is cut by an array."""
LOAD_COST = 4
OPCODE_COST = dict.fromkeys((Opcode.EXP, Opcode.LOG, Opcode.TANH, Opcode.SQRT, Opcode.DIV, Opcode.MOD), EXPENSIVE)


def volume(space: IndexSpace) -> int:
    """Elements of a static space."""
    return prod(space.shape)


def mutable_views(function: Function) -> frozenset[Value]:
    """Parameters that the kernel both reads and writes."""
    both = Usage.READ | Usage.WRITE
    return frozenset(
        parameter for parameter, usage in zip(function.parameters, usages(function), strict=True) if usage == both
    )


def placed(function: Function) -> frozenset[Value]:
    """The tiles that are stored in a private array where they are defined."""
    return Placement(function).placed


class Placement:
    """One pass backwards: how often each element of a tile would be computed, and what that costs."""

    def __init__(self, function: Function) -> None:
        self._mutable = mutable_views(function)
        self._costs: dict[Value, int] = {}
        self._times: dict[Value, float] = {}
        operations = list(function.walk())
        chosen = set(chain_cuts(function))
        for operation in operations:
            for result in operation.results:
                self._costs[result] = self._cost(operation)
        for operation in reversed(operations):
            for result in operation.results:
                self._times[result] = sum(self._demand(use, result, chosen) for use in result.uses)
                if isinstance(result.type, TileType) and self._worth_placing(operation, result):
                    chosen.add(result)
        self.placed = frozenset(chosen)

    def _worth_placing(self, operation: Operation, result: Value) -> bool:
        if operation.kind in (Kind.CONSTANT, *ORDERED_NESTS):
            return False
        if operation.kind is Kind.MMA:
            return True
        if operation.kind is Kind.LOAD_TILE and operation.operands[0] in self._mutable:
            return True
        size = volume(space_of(result.type) or IndexSpace())
        worth = WORTH_A_REGISTER if size <= REGISTERS else EXPENSIVE
        return self._times[result] > 1 and self._costs[result] >= worth

    def _cost(self, operation: Operation) -> int:
        """About how many instructions one element of the result takes, its operands included."""
        match operation.kind:
            case Kind.LOAD_TILE | Kind.LOAD_ELEMENT:
                return LOAD_COST
            case Kind.ELEMENTWISE:
                own = OPCODE_COST.get(cast(Elementwise, operation).code, 1)
                return own + sum(self._costs.get(each, 0) for each in operation.operands if space_of(each.type))
            case Kind.EXTRACT:
                return 1 + self._costs.get(operation.operands[0], 0)
            case Kind.TILE_MAP | Kind.SERIAL | Kind.PIPELINE | Kind.REDUCE:
                return self._body_cost(operation)
            case _:
                return 0

    def _body_cost(self, operation: Operation) -> int:
        trips = 1 if operation.kind is Kind.TILE_MAP or operation.domain is None else volume(operation.domain)
        costs = 0
        for inner in operation.body.operations:
            if inner.kind in ORDERED_NESTS:
                costs += self._body_cost(inner)
            elif inner.kind is Kind.EXTRACT:
                costs += 1 + self._extracted_cost(inner)
            elif inner.kind is Kind.ELEMENTWISE:
                costs += OPCODE_COST.get(cast(Elementwise, inner).code, 1)
        return trips * costs

    def _extracted_cost(self, extract: Operation) -> int:
        definition = extract.operands[0].definition
        return self._cost(definition) if definition and definition.kind is not Kind.EXTRACT else 0

    def _demand(self, use: Use, value: Value, chosen: set[Value]) -> float:
        """How often this use asks for each element of the value."""
        user = use.user
        size = max(1, volume(space_of(value.type) or IndexSpace()))
        block = value.block
        trips = enclosing_trips(user, block)
        match user.kind:
            case Kind.ELEMENTWISE | Kind.CONSTANT:
                result = user.result
                target = max(1, volume(space_of(result.type) or IndexSpace()))
                repeated = 1.0 if result in chosen else self._times.get(result, 1.0)
                return trips * (target / size) * repeated
            case Kind.EXTRACT:
                owner = enclosing_map(user, block)
                repeated = 1.0 if owner is None or owner in chosen else max(1.0, self._times.get(owner, 1.0))
                return max(1.0, trips / size) * repeated
            case Kind.MMA:
                return trips * iterations(cast(Mma, user)) / size
            case _:
                return float(trips)


def chain_cuts(function: Function) -> frozenset[Value]:
    """The tiles that have to be computed where they are defined, so that no chain of deferred ones is too deep."""
    depths: dict[Value, int] = {}
    cuts: set[Value] = set()
    for operation in function.walk():
        within = [operation, *(inner for region in operation.regions for inner in walk(region))]
        depth = 1 + max((depths.get(value, 0) for each in within for value in each.operands), default=0)
        for result in operation.results:
            if not isinstance(result.type, TileType) or operation.kind in (Kind.MMA, Kind.CONSTANT, *ORDERED_NESTS):
                continue
            depths[result] = depth
            if depth > DEEPEST:
                cuts.add(result)
                depths[result] = 0
    return frozenset(cuts)


def enclosing_trips(user: Operation, block: Block | None) -> int:
    """How often the user runs each time the block does."""
    trips = 1
    for ancestor in (user, *user.ancestors()):
        if ancestor.parent is block:
            return trips
        owner = ancestor.parent_operation
        if owner is not None and owner.domain is not None:
            trips *= volume(owner.domain)
    return trips


def enclosing_map(user: Operation, block: Block | None) -> Value | None:
    """The tile of the outermost tile.map around the user, inside the block."""
    found = None
    for ancestor in user.ancestors():
        if ancestor.kind is Kind.TILE_MAP:
            found = ancestor.result
        if ancestor.parent is block:
            break
    return found


def iterations(product: Mma) -> int:
    """Multiplications of an MMA."""
    a, b, c = (space_of(value.type) or IndexSpace() for value in product.operands)
    roles = contraction(a, b, c)
    contracted = prod(int(a.shape[a.dims.index(dim)]) for dim in roles.contracted) if roles else 1
    return volume(c) * contracted
