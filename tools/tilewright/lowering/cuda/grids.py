"""What a thread is: one program of the root domain, or one element (or vector) of an element-wise program.

Fusing the elements into the grid needs a proof: no view is both read and written, no value crosses elements, and two
stores to one view cannot meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import cast

from tilewright.lowering.cuda.emission import tile_space
from tilewright.lowering.cuda.launch import Launch
from tilewright.lowering.cuda.scalars import Scalar, along, integer_constant
from tilewright.lowering.cuda.writer import Writer
from tilewright.tileir.broadcast import broadcasts
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Block, Operation, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.ops.values import Constant
from tilewright.tileir.ops.views import StoreTile
from tilewright.tileir.vocabulary import Kind

POINTWISE = frozenset(
    {Kind.CONSTANT, Kind.ELEMENTWISE, Kind.TILE_MAP, Kind.EXTRACT, Kind.LOAD_TILE, Kind.LOAD_ELEMENT, Kind.YIELD}
)
PATCH_COLUMNS = 16


@dataclass(frozen=True, slots=True)
class Grid:
    """`shape` of what the threads are numbered over: root axes, then (fused) element axes, the last one in vectors.

    `patch` groups the threads of a block into rows and columns of the two last root axes.
    """

    root: tuple[int, ...]
    elements: tuple[int, ...] = ()
    vector: int = 1
    patch: tuple[int, int] | None = None

    @property
    def instances(self) -> int:
        return prod(self.root) * prod(self.elements) // self.vector

    @property
    def words(self) -> str:
        """One phrase for the realization."""
        if self.elements:
            return f"element grid, {self.vector} element(s) a thread"
        return (
            f"one program a thread, patches of {self.patch[0]}x{self.patch[1]}"
            if self.patch
            else "one program a thread"
        )


def fused_elements(root: Parallel, mutable: frozenset[Value], cuts: frozenset[Value]) -> tuple[int, ...]:
    """The element shape that may become part of the grid; () when the program has to stay whole.

    Long chains of tiles are cut at `cuts`, each of which an element must have one value of.
    """
    operations = root.body.operations
    stores = [cast(StoreTile, each) for each in operations if each.kind is Kind.STORE_TILE]
    spaces = store_spaces(root)
    if any(not any(broadcasts(tile_space(cut), space) for space in spaces) for cut in cuts):
        return ()
    others = [each for each in operations if each.kind is not Kind.STORE_TILE]
    if mutable or not stores or not all(map(pointwise, others)):
        return ()
    shapes = {space.shape for space in spaces}
    if len(shapes) != 1:
        return ()
    pairs = [(a, b) for place, a in enumerate(stores) for b in stores[:place] if a.view is b.view]
    shape = shapes.pop()
    return shape if prod(shape) > 1 and all(apart(a, b) for a, b in pairs) else ()


def store_spaces(root: Parallel) -> list[IndexSpace]:
    """The spaces of the tiles that the program stores."""
    operations = root.body.operations
    return [tile_space(cast(StoreTile, each).stored) for each in operations if each.kind is Kind.STORE_TILE]


def pointwise(operation: Operation) -> bool:
    """Whether each element of the results is computed by itself."""
    bodies: list[Block] = [block for region in operation.regions for block in region.blocks]
    return operation.kind in POINTWISE and all(pointwise(each) for body in bodies for each in body.operations)


def apart(a: StoreTile, b: StoreTile) -> bool:
    """Whether two stores of one shape to one view are proved to write different elements of it."""
    for first, second, extent in zip(a.origins, b.origins, tile_space(a.stored).shape, strict=True):
        left, right = constant_of(first), constant_of(second)
        if left is not None and right is not None and abs(left - right) >= extent:
            return True
    return False


def constant_of(value: Value) -> int | None:
    definition = value.definition
    return int(cast(Constant, definition).value) if definition and definition.kind is Kind.CONSTANT else None


def patch_of(root: Parallel, threads: int) -> tuple[int, int] | None:
    """Rows and columns of root instances that a block takes, when tiles are shared between neighbours (an MMA)."""
    shape = root.space.shape
    rows = threads // PATCH_COLUMNS
    if len(shape) < 2 or threads % PATCH_COLUMNS or shape[-1] % PATCH_COLUMNS or shape[-2] % rows:
        return None
    return (rows, PATCH_COLUMNS) if any(each.kind is Kind.MMA for each in walk_block(root.body)) else None


def walk_block(block: Block) -> list[Operation]:
    """The operations of a block and of the regions in it."""
    found: list[Operation] = []
    for operation in block.operations:
        found.append(operation)
        for region in operation.regions:
            for inner in region.blocks:
                found += walk_block(inner)
    return found


def coordinates(writer: Writer, grid: Grid, launch: Launch) -> list[Scalar]:
    """Writes the coordinates of this thread: mixed radix of its number; vectors start at a multiple of their size."""
    if grid.patch:
        return patched(writer, grid, launch, grid.patch)
    shape = (*grid.root, *grid.elements)
    if grid.elements:
        shape = (*shape[:-1], shape[-1] // grid.vector)
    found = mixed_radix(writer, "linear", shape)
    if grid.vector > 1 and grid.elements:
        last = found[-1]
        name = writer.name("e")
        writer.line(f"const int {name} = {last.text} * {grid.vector};")
        found[-1] = Scalar(name, last.element, (0, grid.elements[-1] - grid.vector), grid.vector)
    return found


def mixed_radix(writer: Writer, number: str, shape: tuple[int, ...]) -> list[Scalar]:
    """One coordinate an axis of the shape, last axis fastest."""
    found = []
    for place, extent in enumerate(shape):
        stride = prod(shape[place + 1 :])
        if extent == 1:
            found.append(integer_constant(0))
            continue
        text = number if stride == 1 else f"{number} / {stride}"
        if place and prod(shape[:place]) > 1:
            text = f"{number} % {extent}" if stride == 1 else f"({text}) % {extent}"
        name = writer.name("g")
        writer.line(f"const int {name} = {text};")
        found.append(along(name, extent))
    return found


def patched(writer: Writer, grid: Grid, launch: Launch, patch: tuple[int, int]) -> list[Scalar]:
    """The block takes a patch of the two last root axes; the patches are numbered row-major."""
    *outer, rows, columns = grid.root
    writer.line(f"const int patch = linear / {launch.threads};")
    writer.line(f"const int within = linear % {launch.threads};")
    places = mixed_radix(writer, "patch", (*outer, rows // patch[0], columns // patch[1]))
    inside = mixed_radix(writer, "within", patch)
    found = places[:-2]
    for block, thread, size, extent in zip(places[-2:], inside, patch, (rows, columns), strict=True):
        name = writer.name("g")
        writer.line(f"const int {name} = {block.text} * {size} + {thread.text};")
        found.append(along(name, extent))
    return found
