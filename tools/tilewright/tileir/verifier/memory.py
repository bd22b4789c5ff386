"""V19 to V21: allocations, and the linear flow of memory states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from tilewright.tileir.graph import Block, Function, Operation, Value
from tilewright.tileir.ops.memory import Alloc, MemoryLoad, MemoryStore
from tilewright.tileir.ops.nests import OrderedNest
from tilewright.tileir.types import StateType, space_of
from tilewright.tileir.verifier.faults import Problems, fault
from tilewright.tileir.vocabulary import ORDERED_NESTS, Kind


def unusable_layout(operation: Operation) -> Problems:
    """V19: a layout maps the space of the memory, and where that can be enumerated: totally, in bounds, injectively."""
    layout = operation.layout
    if operation.kind is not Kind.ALLOC or layout is None:
        return
    space = space_of(cast(Alloc, operation).memory.type)
    if layout.domain != space or not layout.is_well_formed():
        yield fault(operation, f"the layout {layout} does not map the elements {space}")
        return
    facts = layout.analyze_finite()
    if facts is None:
        return
    for holds, word in ((facts.total, "total"), (facts.in_bounds, "in bounds"), (facts.injective, "injective")):
        if not holds:
            yield fault(operation, f"the layout {layout} is not {word}")
            return


def foreign_state(operation: Operation) -> Problems:
    """V20: the state of an access belongs to its memory."""
    if operation.kind in (Kind.MEMORY_LOAD, Kind.MEMORY_STORE):
        memory, state = operation.operands[:2]
        if memory_of(state) is not memory:
            yield fault(operation, "the state belongs to another memory")


def memory_of(state: Value) -> Value | None:
    """The memory a state orders, traced through allocations, stores and carries; None if there is none."""
    seen: set[Value] = set()
    while state not in seen:
        seen.add(state)
        owner = state.owner
        if isinstance(owner, Alloc):
            return owner.memory
        if isinstance(owner, MemoryStore):
            return owner.memory
        if isinstance(owner, OrderedNest):
            state = owner.operands[state.index]
        elif isinstance(owner, Block) and isinstance(owner.region.owner, OrderedNest):
            nest = owner.region.owner
            place = state.index - nest.space.rank
            if not 0 <= place < len(nest.operands):
                return None
            state = nest.operands[place]
    return None


@dataclass
class Reach:
    """What holds at a point: the reaching state of each memory, and which memories were surely stored to."""

    states: dict[Value, Value] = field(default_factory=dict)
    stored: set[Value] = field(default_factory=set)

    def copy(self) -> Reach:
        return Reach(dict(self.states), set(self.stored))


def memory_flow(function: Function) -> Problems:
    """V21: every access consumes the reaching state; loads come after a store; nests carry what they write."""
    yield from _block(function.body.block, Reach())


def _block(block: Block, reach: Reach) -> Problems:
    for operation in block.operations:
        if operation.kind is Kind.ALLOC:
            alloc = cast(Alloc, operation)
            reach.states[alloc.memory] = alloc.state
        elif operation.kind is Kind.MEMORY_LOAD:
            load = cast(MemoryLoad, operation)
            yield from _reaching(load, load.state, load.memory, reach)
            if load.memory not in reach.stored:
                yield fault(load, "reads a memory that was not surely stored to")
        elif operation.kind is Kind.MEMORY_STORE:
            store = cast(MemoryStore, operation)
            yield from _reaching(store, store.state, store.memory, reach)
            reach.states[store.memory] = store.result
            reach.stored.add(store.memory)
        elif operation.kind in ORDERED_NESTS:
            yield from _ordered(cast(OrderedNest, operation), reach)
        elif operation.kind is Kind.PARALLEL:
            inner = reach.copy()
            yield from _block(operation.body, inner)
            yield from _written(operation, reach, inner, set(), "instances may not write it")


def _ordered(nest: OrderedNest, reach: Reach) -> Problems:
    inner = reach.copy()
    carried: dict[Value, int] = {}
    for place, value in enumerate(nest.operands):
        memory = memory_of(value) if isinstance(value.type, StateType) else None
        if memory is not None:
            yield from _reaching(nest, value, memory, reach)
            carried[memory] = place
            inner.states[memory] = nest.carried[place]
    yield from _block(nest.body, inner)
    for memory, place in carried.items():
        if nest.yielded[place] is not inner.states.get(memory):
            yield fault(nest.body.operations[-1], f"operand {place} is not the reaching state of its memory")
        reach.states[memory] = nest.results[place]
        if memory in inner.stored and nest.space.static_volume():
            reach.stored.add(memory)
    yield from _written(nest, reach, inner, set(carried), "carry its state through the nest")


def _reaching(operation: Operation, state: Value, memory: Value, reach: Reach) -> Problems:
    if reach.states.get(memory) is not state:
        yield fault(operation, "uses a stale or forked state of its memory", "use the result of the last store")


def _written(nest: Operation, before: Reach, inner: Reach, carried: set[Value], remedy: str) -> Problems:
    for memory, state in before.states.items():
        if memory not in carried and inner.states.get(memory) is not state:
            yield fault(nest, f"writes the outer memory %{memory.id} without carrying its state: {remedy}")
