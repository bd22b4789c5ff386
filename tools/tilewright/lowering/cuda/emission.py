"""The state of one emission: what stands for each TileIR value, where text goes, and how element loops are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod

from tilewright.lowering.cuda.placement import REGISTERS, volume
from tilewright.lowering.cuda.scalars import C_TYPES, Scalar, along, flat_index, integer_constant, lanes
from tilewright.lowering.cuda.tiles import Deferred, Index, PrivateArray, Splat, Tile
from tilewright.lowering.cuda.writer import Writer
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Block, Operation, Value
from tilewright.tileir.types import Element, TileType, element_of, space_of
from tilewright.tileir.vocabulary import Kind

VECTOR = 4
"""Elements of a float4."""
UNROLLED_STEPS = 2048
"""Most iterations of a loop nest over register tiles that is unrolled whole."""

Step = Callable[["Emission", Operation], None]


@dataclass(frozen=True)
class Program:
    """What holds for the whole kernel: the step of each kind, the name of each used parameter, placement."""

    steps: Mapping[Kind, Step]
    pointers: Mapping[Value, str]
    mutable: frozenset[Value]
    placed: frozenset[Value]
    vectors: bool
    vector_pointers: set[str] = field(default_factory=set)


class Emission:
    """`scalars` and `tiles` are bindings of SSA values; a body that is emitted more than once gets a child."""

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
        """Binds a tile; one that placement chose is computed now, into an array of the thread."""
        if value in self.program.placed and isinstance(tile, Deferred):
            tile = self.stored(tile, value.type)
        self._tiles[value] = tile

    def scalar(self, value: Value) -> Scalar:
        if value in self._scalars:
            return self._scalars[value]
        assert self._outer is not None, value  # noqa: S101
        return self._outer.scalar(value)

    def tile(self, value: Value) -> Tile:
        if value in self._tiles:
            return self._tiles[value]
        assert self._outer is not None, value  # noqa: S101
        return self._outer.tile(value)

    def deferred(self, compute: Callable[[Index], Scalar]) -> Deferred:
        return Deferred(compute, self.writer)

    def array(self, stem: str, type: TileType) -> PrivateArray:
        """Declares an array for the elements of a tile."""
        name = self.writer.name(stem)
        self.writer.line(f"{C_TYPES[type.element]} {name}[{max(1, volume(type.space))}];")
        return PrivateArray(name, type.space, type.element)

    def stored(self, tile: Tile, type: object) -> Tile:
        """The tile computed into a new array; a single element becomes a splat."""
        assert isinstance(type, TileType), type  # noqa: S101
        if volume(type.space) == 1:
            index = (integer_constant(0),) * type.space.rank
            return Splat(self.writer.bind(tile.at(index)))
        array = self.array("t", type)
        self.fill(array, tile)
        return array

    def fill(self, array: PrivateArray, tile: Tile) -> None:
        """Copies every element of the tile into the array."""
        with self.each(array.space) as points:
            for index in points:
                text, _ = flat_index(index, array.space.strides())
                self.writer.line(f"{array.name}[{text}] = {tile.at(index).text};")

    @contextmanager
    def each(self, space: IndexSpace, *, unroll: int = 0) -> Iterator[list[Index]]:
        """Loops over a space in row-major order; inside, one index, or the four of a vector along the last axis.

        Loops over register tiles are unrolled; `unroll` asks for that of the innermost loop otherwise.
        """
        shape = space.shape
        whole = prod(shape) <= REGISTERS
        step = VECTOR if self.program.vectors and shape and shape[-1] % VECTOR == 0 else 1
        with ExitStack() as loops:
            index: list[Scalar] = []
            for place, extent in enumerate(shape):
                last = place == len(shape) - 1
                stride = step if last else 1
                index.append(self.loop(loops, extent, step=stride, whole=whole, unroll=unroll if last else 0))
            if step == 1:
                yield [tuple(index)]
            else:
                yield [(*index[:-1], lane) for lane in lanes(index[-1], step)]

    def loop(self, loops: ExitStack, extent: int, *, step: int = 1, whole: bool = False, unroll: int = 0) -> Scalar:
        """Opens a loop over an extent, closed by the stack; no loop for a single point."""
        if extent == 1:
            return integer_constant(0)
        name = self.writer.name("i")
        counter = along(name, extent, step=step)
        if whole or unroll:
            self.writer.line("#pragma unroll" if whole else f"#pragma unroll {unroll}")
        advance = f"++{name}" if step == 1 else f"{name} += {step}"
        word = "int" if extent <= 2**31 - 1 else "long long"
        loops.enter_context(self.writer.block(f"for ({word} {name} = 0; {name} < {extent}; {advance})"))
        return counter


def tile_space(value: Value) -> IndexSpace:
    """The space of a tile, rank 0 for a scalar."""
    return space_of(value.type) or IndexSpace()


def element(value: Value) -> Element:
    """The element of a value that has one."""
    found = element_of(value.type)
    assert found is not None, value  # noqa: S101
    return found
