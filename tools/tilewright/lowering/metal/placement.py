"""Which tiles are stored where they are defined: what several consumers read and is dear to compute again.

Views that the kernel does not write may be read again at any time, since no writable argument may overlap another;
a view that is read and written is copied where it is loaded.
"""

from __future__ import annotations

from math import prod
from typing import cast

from tilewright.tileir.graph import Block, Function, Operation, Use, Value, walk
from tilewright.tileir.ops.values import Elementwise
from tilewright.tileir.types import TileType, space_of
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import NESTS, Kind, Opcode

DEAR = frozenset({Opcode.EXP, Opcode.LOG, Opcode.TANH, Opcode.SQRT})
"""Opcodes that are not computed twice (B205)."""


DEFERRED = frozenset({Kind.ELEMENTWISE, Kind.TILE_MAP, Kind.LOAD_TILE})
"""Operations whose tile is computed where an element is asked for."""
LONGEST_CHAIN = 48


def volume(value: Value) -> int:
    """Elements of a static tile; 1 for a scalar."""
    space = space_of(value.type)
    return prod(space.shape) if space else 1


def mutable_views(function: Function) -> frozenset[Value]:
    """Parameters that the kernel both reads and writes."""
    both = Usage.READ | Usage.WRITE
    used = usages(function)
    return frozenset(view for view, usage in zip(function.parameters, used, strict=True) if usage == both)


def stored_tiles(function: Function) -> frozenset[Value]:
    """The tiles of more than one element that get storage of their own."""
    mutable = mutable_views(function)
    operations = list(function.walk())
    dear: set[Value] = set()
    for operation in operations:
        if is_dear(operation, dear):
            dear.update(operation.results)
    stored = chain_cuts(operations)
    times: dict[Value, float] = {}
    for operation in reversed(operations):
        for result in operation.results:
            times[result] = sum(demand(use, result, times, stored) for use in result.uses)
            if not isinstance(result.type, TileType) or volume(result) <= 1 or operation.kind in NESTS:
                continue
            snapshot = operation.kind is Kind.LOAD_TILE and operation.operands[0] in mutable
            if snapshot or (result in dear and times[result] > 1):
                stored.add(result)
    return frozenset(stored)


def chain_cuts(operations: list[Operation]) -> set[Value]:
    """Tiles that are stored so that no chain of deferred ones grows too long."""
    depths: dict[Value, int] = {}
    cuts: set[Value] = set()
    for operation in operations:
        inside = [operation, *(inner for region in operation.regions for inner in walk(region))]
        deepest = 1 + max((depths.get(each, 0) for inner in inside for each in inner.operands), default=0)
        for result in operation.results:
            deferred = operation.kind in DEFERRED and isinstance(result.type, TileType) and volume(result) > 1
            depths[result] = deepest if deferred else 0
            if depths[result] > LONGEST_CHAIN:
                cuts.add(result)
                depths[result] = 0
    return cuts


def is_dear(operation: Operation, dear: set[Value]) -> bool:
    """A dear opcode, a loop, or an operand that is dear and is computed along with the result."""
    match operation.kind:
        case Kind.ELEMENTWISE:
            own = cast(Elementwise, operation).code in DEAR and isinstance(operation.result.type, TileType)
            return own or any(each in dear and volume(each) > 1 for each in operation.operands)
        case Kind.TILE_MAP:
            return any(inner_is_dear(each, dear) for each in operation.body.operations)
        case _:
            return False


def inner_is_dear(operation: Operation, dear: set[Value]) -> bool:
    match operation.kind:
        case Kind.SERIAL | Kind.PIPELINE | Kind.REDUCE:
            return True
        case Kind.ELEMENTWISE:
            return cast(Elementwise, operation).code in DEAR
        case Kind.EXTRACT:
            return operation.operands[0] in dear and volume(operation.operands[0]) > 1
        case _:
            return False


def demand(use: Use, value: Value, times: dict[Value, float], stored: set[Value]) -> float:
    """How often this use asks for each element of the value."""
    user = use.user
    trips = enclosing_trips(user, value.block)
    size = max(1, volume(value))
    owner = enclosing_map(user, value.block)
    repeated = 1.0 if owner is None or owner in stored else max(1.0, times.get(owner, 1.0))
    match user.kind:
        case Kind.ELEMENTWISE:
            result = user.result
            again = 1.0 if result in stored else times.get(result, 1.0)
            return trips * (max(1, volume(result)) / size) * again * repeated
        case Kind.EXTRACT:
            return max(1.0, trips / size) * repeated
        case Kind.MMA:
            other = max(volume(each) for each in user.operands if each is not value)
            return float(trips * (2 if other > 1 and use.index < 2 else 1))
        case _:
            return float(trips)


def enclosing_trips(user: Operation, block: Block | None) -> int:
    """How often the user runs each time the block does."""
    trips = 1
    for ancestor in (user, *user.ancestors()):
        if ancestor.parent is block:
            return trips
        owner = ancestor.parent_operation
        if owner is not None and owner.domain is not None:
            trips *= prod(owner.domain.shape)
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
