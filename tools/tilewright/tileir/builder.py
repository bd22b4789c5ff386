"""Building TileIR: one method an operation, result types inferred, insertion at the end of a block.

Nests are context managers: inside the `with`, new operations go into the nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tilewright.problem import Place
from tilewright.tileir.broadcast import union
from tilewright.tileir.dims import Extent, IndexSpace
from tilewright.tileir.errors import known
from tilewright.tileir.graph import Attribute, Block, Function, Operation, Value
from tilewright.tileir.index_map import IndexMap
from tilewright.tileir.ops.memory import Alloc, MemoryLoad, MemoryStore
from tilewright.tileir.ops.nests import Custom, OrderedNest, Parallel, Pipeline, Reduce, Serial, Stage, Yield
from tilewright.tileir.ops.values import Constant, Elementwise, Extract, Mma, TileMap
from tilewright.tileir.ops.views import LoadElement, LoadTile, StoreElement, StoreTile
from tilewright.tileir.types import (
    I64,
    INDEX,
    STATE,
    Element,
    MemoryType,
    ScalarType,
    TileType,
    Type,
    ViewType,
    element_of,
    space_of,
)
from tilewright.tileir.vocabulary import Bounds, Opcode, Resource, Scope

Op = TypeVar("Op", bound=Operation)
Ordered = TypeVar("Ordered", bound=OrderedNest)


class Builder:
    """Appends operations to `block` (at first the body of the function); `place` is stamped on each."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.block: Block = function.body.block
        self.place: Place | None = None

    def insert(self, operation: Op) -> Op:
        """Puts a detached operation at the insertion point."""
        if operation.place is None:
            operation.place = self.place
        self.block.append(operation)
        return operation

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Moves the insertion point into that block for a while."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def view(self, name: str, element: Element, extents: Sequence[Extent]) -> Value:
        """A new view parameter; its dims are called `name.0`, `name.1`, ..."""
        module = known(self.function.module, self.function)
        space = IndexSpace.of(*((module.dim(f"{name}.{place}"), extent) for place, extent in enumerate(extents)))
        return self.function.body.block.add_argument(ViewType(element, space), name)

    def constant(self, value: Attribute, type: Type) -> Value:
        return self.insert(Constant(self.function, (), (type,), attributes={"value": value})).result

    def index(self, value: int) -> Value:
        """An i64 constant."""
        return self.constant(value, I64)

    def elementwise(self, opcode: Opcode, *operands: Value, type: Type | None = None) -> Value:
        """Result type by inference unless given; a cast needs it given."""
        type = type or result_type(opcode, operands)
        return self.insert(Elementwise(self.function, operands, (type,), opcode=opcode)).result

    def cast(self, value: Value, element: Element) -> Value:
        space = space_of(value.type)
        type = ScalarType(element) if space is None else TileType(element, space)
        return self.elementwise(Opcode.CAST, value, type=type)

    def extract(self, tile: Value, indices: Sequence[Value]) -> Value:
        element = known(element_of(tile.type), tile)
        return self.insert(Extract(self.function, (tile, *indices), (ScalarType(element),))).result

    def mma(self, a: Value, b: Value, c: Value, *, allow_reassociation: bool = True) -> Value:
        attributes = {"allow_reassociation": allow_reassociation}
        return self.insert(Mma(self.function, (a, b, c), (c.type,), attributes=attributes)).result

    @contextmanager
    def tile_map(self, domain: IndexSpace, element: Element) -> Iterator[TileMap]:
        """The body has to end in `yield_(scalar)`; the tile is `.result`."""
        operation = self.insert(TileMap(self.function, (), (TileType(element, domain),), domain=domain, regions=1))
        for axis in domain.axes:
            operation.body.add_argument(INDEX, axis.dim.name)
        with self.inside(operation.body):
            yield operation

    def load_element(
        self, view: Value, indices: Sequence[Value], predicate: Value | None = None, fallback: Value | None = None
    ) -> Value:
        element = known(element_of(view.type), view)
        guard = tuple(value for value in (predicate, fallback) if value is not None)
        return self.insert(LoadElement(self.function, (view, *indices, *guard), (ScalarType(element),))).result

    def store_element(self, view: Value, indices: Sequence[Value], scalar: Value) -> StoreElement:
        return self.insert(StoreElement(self.function, (view, *indices, scalar)))

    def load(
        self,
        view: Value,
        origins: Sequence[Value],
        domain: IndexSpace,
        *,
        fill: Value | None = None,
        bounds: Bounds = Bounds.ZERO,
    ) -> Value:
        """A sub-tile; domain axis i runs along axis i of the view."""
        element = known(element_of(view.type), view)
        operands = (view, *origins) if fill is None else (view, *origins, fill)
        type = TileType(element, domain)
        return self.insert(LoadTile(self.function, operands, (type,), domain=domain, bounds=bounds)).result

    def store(self, view: Value, origins: Sequence[Value], tile: Value, *, bounds: Bounds = Bounds.ZERO) -> StoreTile:
        """Stores the whole tile; its axis i runs along axis i of the view."""
        return self.insert(StoreTile(self.function, (view, *origins, tile), domain=space_of(tile.type), bounds=bounds))

    def alloc(
        self, element: Element, space: IndexSpace, *, resource: Resource | None = None, layout: IndexMap | None = None
    ) -> Alloc:
        types = (MemoryType(element, space), STATE)
        return self.insert(Alloc(self.function, (), types, resource=resource, layout=layout))

    def memory_load(self, memory: Value, state: Value) -> Value:
        element, space = element_of(memory.type), space_of(memory.type)
        assert element is not None, memory  # noqa: S101
        assert space is not None, memory  # noqa: S101
        return self.insert(MemoryLoad(self.function, (memory, state), (TileType(element, space),))).result

    def memory_store(self, memory: Value, state: Value, tile: Value) -> Value:
        return self.insert(MemoryStore(self.function, (memory, state, tile), (STATE,))).result

    @contextmanager
    def parallel(self, domain: IndexSpace, scope: Scope | None = None) -> Iterator[Parallel]:
        operation = self.insert(Parallel(self.function, domain=domain, scope=scope, regions=1))
        for axis in domain.axes:
            operation.body.add_argument(INDEX, axis.dim.name)
        with self.inside(operation.body):
            yield operation

    @contextmanager
    def serial(self, domain: IndexSpace, initial: Sequence[Value] = ()) -> Iterator[Serial]:
        """Inside: `.coordinates`, `.carried`, and `yield_(next...)` at the end if anything is carried."""
        with self._ordered(Serial(self.function, initial, _types(initial), domain=domain, regions=1)) as operation:
            yield operation

    @contextmanager
    def pipeline(
        self, domain: IndexSpace, initial: Sequence[Value] = (), *, stages: int = 0, initiation_interval: int = 1
    ) -> Iterator[Pipeline]:
        attributes = {"stages": stages, "initiation_interval": initiation_interval}
        types = _types(initial)
        pipeline = Pipeline(self.function, initial, types, domain=domain, regions=1, attributes=attributes)
        with self._ordered(pipeline) as operation:
            yield operation

    @contextmanager
    def reduce(self, domain: IndexSpace, initial: Sequence[Value] = ()) -> Iterator[Reduce]:
        with self._ordered(Reduce(self.function, initial, _types(initial), domain=domain, regions=1)) as operation:
            yield operation

    @contextmanager
    def _ordered(self, operation: Ordered) -> Iterator[Ordered]:
        self.insert(operation)
        for axis in operation.space.axes:
            operation.body.add_argument(INDEX, axis.dim.name)
        for value in operation.operands:
            operation.body.add_argument(value.type)
        with self.inside(operation.body):
            yield operation

    def stage(self, name: str) -> Stage:
        return self.insert(Stage(self.function, attributes={"name": name}))

    def yield_(self, *values: Value) -> Yield:
        return self.insert(Yield(self.function, values))

    def custom(self, name: str, operands: Sequence[Value] = (), types: Sequence[Type] = ()) -> Custom:
        return self.insert(Custom(self.function, operands, types, attributes={"name": name}))


def result_type(opcode: Opcode, operands: Sequence[Value]) -> Type:
    """The type of an element-wise result: union of the tile spaces; bool for comparisons and logic.

    The operands have to be valid and broadcastable; SELECT puts its value operands first.
    """
    ordered = [*operands[1:], operands[0]] if opcode is Opcode.SELECT else list(operands)
    element = known(element_of(ordered[0].type), operands)
    if opcode.family in ("comparison", "logical"):
        element = Element.BOOL
    spaces = [space for value in ordered if (space := space_of(value.type)) is not None]
    if not spaces:
        return ScalarType(element)
    space = known(union(spaces), operands)
    return TileType(element, space)


def _types(values: Sequence[Value]) -> list[Type]:
    return [value.type for value in values]
