"""The state of one emission: what stands for each TileIR value, and how loops over elements are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from typing import Protocol

from tilewright.lowering.metal.msl import TYPES
from tilewright.lowering.metal.scalars import Scalar, flat_index, index, integer
from tilewright.lowering.metal.writer import Writer
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Block, Operation, Value
from tilewright.tileir.types import Element, TileType, element_of, is_scalar, space_of
from tilewright.tileir.vocabulary import Kind

Index = tuple[Scalar, ...]
Step = Callable[["Emission", Operation], None]


class Tile(Protocol):
    """What a tile is bound to."""

    def at(self, place: Index) -> Scalar:
        """The value of one element; may write lines that compute it."""


@dataclass(frozen=True, slots=True)
class Splat:
    """A tile of one value."""

    scalar: Scalar

    def at(self, place: Index) -> Scalar:
        return self.scalar


@dataclass(frozen=True, slots=True)
class Stored:
    """A tile in an array of the thread, row-major."""

    name: str
    space: IndexSpace
    element: Element

    def slot(self, place: Index) -> str:
        """The element as MSL text that can be assigned to."""
        return f"{self.name}[{flat_index(place, self.space.strides())}]"

    def at(self, place: Index) -> Scalar:
        bounds = self.element.integer_range() if self.element.is_integer else (0, 0)
        return Scalar(f"({self.slot(place)})", self.element, bounds)


@dataclass(frozen=True, eq=False)
class Deferred:
    """A tile computed where an element is asked for; each element once a scope."""

    compute: Callable[[Index], Scalar]
    writer: Writer

    def at(self, place: Index) -> Scalar:
        key = (self, *(each.text for each in place))
        found = self.writer.recall(key)
        if found is None:
            found = self.writer.bind(self.compute(place))
            self.writer.remember(key, found)
        return found


@dataclass(frozen=True)
class Program:
    """What holds for the whole kernel: the step of each kind, the name of each used parameter, stored tiles."""

    steps: Mapping[Kind, Step]
    pointers: Mapping[Value, str]
    stored: frozenset[Value]


class Emission:
    """Bindings of SSA values; a body that is emitted more than once gets a child."""

    def __init__(self, program: Program, writer: Writer, outer: Emission | None = None) -> None:
        self.program = program
        self.writer = writer
        self._outer = outer
        self._scalars: dict[Value, Scalar] = {}
        self._tiles: dict[Value, Tile] = {}

    def child(self) -> Emission:
        """Bindings on top of these."""
        return Emission(self.program, self.writer, self)

    def run(self, block: Block) -> None:
        """Emits the operations of a block in order."""
        for operation in block.operations:
            self.program.steps[operation.kind](self, operation)

    def set_scalar(self, value: Value, scalar: Scalar) -> None:
        self._scalars[value] = scalar

    def set_tile(self, value: Value, tile: Tile) -> None:
        self._tiles[value] = tile

    def scalar(self, value: Value) -> Scalar:
        if value in self._scalars:
            return self._scalars[value]
        assert self._outer is not None, value  # noqa: S101
        return self._outer.scalar(value)

    def tile(self, value: Value) -> Tile:
        """The tile bound to a value; a scalar as a splat."""
        if is_scalar(value.type):
            return Splat(self.scalar(value))
        if value in self._tiles:
            return self._tiles[value]
        assert self._outer is not None, value  # noqa: S101
        return self._outer.tile(value)

    def define(self, value: Value, compute: Callable[[Index], Scalar]) -> None:
        """Binds a tile: one element as a scalar, a stored tile computed into an array, others when asked for."""
        type = value.type
        assert isinstance(type, TileType), value  # noqa: S101
        tile = Deferred(compute, self.writer)
        if prod(type.space.shape) == 1:
            self.set_tile(value, Splat(tile.at(origin(type.space))))
        elif value in self.program.stored:
            self.set_tile(value, self.kept(tile, type))
        else:
            self.set_tile(value, tile)

    def kept(self, tile: Tile, type: TileType) -> Tile:
        """The tile in the storage that a stored tile gets."""
        return self.stored(tile, type)

    def array(self, stem: str, type: TileType) -> Stored:
        """Declares an array for the elements of a tile."""
        name = self.writer.name(stem)
        self.writer.line(f"{TYPES[type.element]} {name}[{max(1, prod(type.space.shape))}];")
        return Stored(name, type.space, type.element)

    def stored(self, tile: Tile, type: TileType) -> Stored:
        """The tile computed into a new array."""
        array = self.array("t", type)
        self.fill(array, tile)
        return array

    def fill(self, array: Stored, tile: Tile) -> None:
        with self.each(array.space) as place:
            self.writer.line(f"{array.slot(place)} = {tile.at(place).text};")

    @contextmanager
    def each(self, space: IndexSpace) -> Iterator[Index]:
        """Loops over a space in row-major order."""
        with ExitStack() as loops:
            yield tuple(self.loop(loops, extent) for extent in space.shape)

    def loop(self, loops: ExitStack, extent: int) -> Scalar:
        """Opens a loop over an extent, closed by the stack; none for a single point."""
        if extent == 1:
            return integer(0)
        name = self.writer.name("i")
        loops.enter_context(self.writer.block(f"for (int {name} = 0; {name} < {extent}; ++{name})"))
        return index(name, extent)


def origin(space: IndexSpace) -> Index:
    """The index of the only element of a space of one."""
    return (integer(0),) * space.rank


def tile_space(value: Value) -> IndexSpace:
    """The space of a tile or view, rank 0 for a scalar."""
    return space_of(value.type) or IndexSpace()


def element(value: Value) -> Element:
    """The element of a value that has one."""
    found = element_of(value.type)
    assert found is not None, value  # noqa: S101
    return found


def projected(place: Index, source: IndexSpace, target: IndexSpace) -> Index:
    """The index of a broadcast operand: by dim identity, 0 along axes of extent 1."""
    positions = [target.position(axis.dim) for axis in source.axes]
    return tuple(
        integer(0) if axis.extent == 1 or position is None else place[position]
        for axis, position in zip(source.axes, positions, strict=True)
    )
