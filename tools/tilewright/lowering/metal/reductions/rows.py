"""Emission of a proved row program. Worker w of a row owns elements w, w + W, w + 2W, ... of every domain.

A collective is reached by every lane; only the store of a partial is lane 0's. Every reduction has its own partials,
so one barrier a reduction is enough, as a row program runs once a threadgroup. An unrolled loop takes several chunks
an iteration in the order of the plain one, into the same accumulator; what is left of the chunks follows it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import cast

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.emission import Emission, Index, Program, Step, Tile, element, tile_space
from tilewright.lowering.metal.function_checks import fault
from tilewright.lowering.metal.msl import TYPES, float_literal
from tilewright.lowering.metal.reductions.analysis import COLLECTIVES, IDENTITIES, Row
from tilewright.lowering.metal.reductions.plan import Candidate
from tilewright.lowering.metal.reference import bind_coordinates, unflattened
from tilewright.lowering.metal.scalars import Scalar, index, unknown
from tilewright.lowering.metal.signature import kernel_text, pointer_names
from tilewright.lowering.metal.table import STEPS
from tilewright.lowering.metal.views import emit_store_element, store_point
from tilewright.lowering.metal.writer import Writer
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Function, Operation
from tilewright.tileir.ops.nests import Reduce
from tilewright.tileir.ops.views import StoreTile
from tilewright.tileir.types import Element, TileType
from tilewright.tileir.vocabulary import Kind

GROUP = "uint group [[threadgroup_position_in_grid]]"
LANE = "uint lane [[thread_index_in_simdgroup]]"
SUBGROUP = "uint subgroup [[simdgroup_index_in_threadgroup]]"


@dataclass
class Workers:
    """The workers of a row, the partials declared so far, and the element loop that is open."""

    function: Function
    row: Row
    mapping: Candidate
    unroll: int = 1
    partials: list[str] = field(default_factory=list)
    owned: tuple[Scalar, ...] | None = None
    extents: tuple[int, ...] = ()
    chunk: str = "0"

    def each_owned(self, emission: Emission, space: IndexSpace) -> Iterator[Index]:
        """Walks the elements this worker owns: the index of the current one, once for every copy of the loop's body."""
        elements = space.static_volume() or 0
        chunks = -(-elements // self.mapping.workers)
        ragged = elements % self.mapping.workers != 0
        step = self.unroll
        looped = chunks // step * step if chunks // step > 1 else 0
        writer = emission.writer
        if looped:
            k = writer.name("k")
            advance = f"++{k}" if step == 1 else f"{k} += {step}"
            with writer.block(f"for (int {k} = 0; {k} < {looped}; {advance})"):
                for copy in range(step):
                    last = looped == chunks and copy == step - 1
                    chunk = f"{k} + {copy}" if copy else k
                    yield from self.owned_element(emission, space, chunk, guarded=ragged and last, braced=step > 1)
        for rest in range(looped, chunks):
            guarded = ragged and rest == chunks - 1
            yield from self.owned_element(emission, space, str(rest), guarded=guarded, braced=True)

    def owned_element(
        self, emission: Emission, space: IndexSpace, chunk: str, *, guarded: bool, braced: bool
    ) -> Iterator[Index]:
        """The index of the element of one chunk, in a scope of its own when that is `guarded` or `braced`."""
        elements = space.static_volume() or 0
        name, writer = "worker", emission.writer
        if chunk != "0":
            name = writer.name("e")
            first = f"({chunk})" if " " in chunk else chunk
            writer.line(f"const int {name} = {first} * {self.mapping.workers} + worker;")
        with ExitStack() as scope:
            if guarded or braced:
                scope.enter_context(writer.block(f"if ({name} < {elements})" if guarded else ""))
            place = unflattened(emission, index(name, elements), space.shape)
            self.owned = tuple(each for each, extent in zip(place, space.shape, strict=True) if extent != 1)
            self.extents = tuple(extent for extent in space.shape if extent != 1)
            self.chunk = chunk
            yield place
            self.owned = None


@dataclass(frozen=True)
class Striped:
    """A tile of which every worker holds the elements it owns."""

    array: str
    space: IndexSpace
    element: Element
    workers: Workers

    def at(self, place: Index) -> Scalar:
        """B116: the element has to be the one that the current worker owns."""
        own = tuple(each for each, extent in zip(place, self.space.shape, strict=True) if extent != 1)
        extents = tuple(extent for extent in self.space.shape if extent != 1)
        if own != self.workers.owned or extents != self.workers.extents:
            what = "a striped tile would be read by a worker that does not own the element"
            hint = "read the element from the input view instead"
            raise LoweringError([fault(self.workers.function, what, "row-ownership", hint)])
        return unknown(f"({self.array}[{self.workers.chunk}])", self.element)


class RowEmission(Emission):
    """An emission whose stored tiles are striped over the workers."""

    def __init__(self, program: Program, writer: Writer, workers: Workers, outer: Emission | None = None) -> None:
        super().__init__(program, writer, outer)
        self.workers = workers

    def child(self) -> Emission:
        return RowEmission(self.program, self.writer, self.workers, self)

    def kept(self, tile: Tile, type: TileType) -> Tile:
        chunks = -(-(type.space.static_volume() or 0) // self.workers.mapping.workers)
        name = self.writer.name("t")
        self.writer.line(f"{TYPES[type.element]} {name}[{chunks}];")
        for place in self.workers.each_owned(self, type.space):
            self.writer.line(f"{name}[{self.workers.chunk}] = {tile.at(place).text};")
        return Striped(name, type.space, type.element, self.workers)


def emit_rows(function: Function, row: Row, mapping: Candidate, unroll: int = 0) -> str:
    """The source of a row program under a mapping; LoweringError for a tile that cannot be striped (B116)."""
    workers = Workers(function, row, mapping, max(1, unroll))
    steps: dict[Kind, Step] = {**STEPS, Kind.REDUCE: emit_reduction, Kind.STORE_TILE: emit_owned_store}
    steps[Kind.STORE_ELEMENT] = emit_first_store
    writer = Writer()
    emission = RowEmission(Program(steps, pointer_names(function), row.striped), writer, workers)
    programs, packing = row.work.programs, mapping.packing
    if mapping.subgroups > 1:
        writer.line("const int worker = int(subgroup) * 32 + int(lane);")
        emit_row(emission, index("int(group)", programs))
    else:
        writer.line("const int worker = int(lane);")
        writer.line(f"const int row = int(group) * {packing} + int(subgroup);")
        if programs % packing:
            with writer.block(f"if (row < {programs})"):
                emit_row(emission, index("row", programs))
        else:
            emit_row(emission, index("row", programs))
    return kernel_text(function, (GROUP, LANE, SUBGROUP), [*workers.partials, *writer.lines])


def emit_row(emission: RowEmission, linear: Scalar) -> None:
    """One row: coordinates, what stands before the root, the body."""
    root, function = emission.workers.row.root, emission.workers.function
    bind_coordinates(emission, root, emission.writer.bind(linear))
    for operation in function.body.block.operations:
        if operation is not root:
            emission.program.steps[operation.kind](emission, operation)
    emission.run(root.body)


def emit_reduction(emission: Emission, operation: Operation) -> None:
    """Every worker folds what it owns, then the lanes of a SIMD-group, then the SIMD-groups through partials."""
    fold = cast(Reduce, operation)
    workers, writer = workers_of(emission), emission.writer
    code = workers.row.reductions[fold]
    collective, identity = COLLECTIVES[code], float_literal(IDENTITIES[code])
    name = writer.name("r")
    writer.line(f"float {name} = {identity};")
    for place in workers.each_owned(emission, fold.space):
        inner = emission.child()
        for coordinate, at in zip(fold.coordinates, place, strict=True):
            inner.set_scalar(coordinate, at)
        inner.set_scalar(fold.carried[0], unknown(name, element(fold.results[0])))
        inner.run(fold.body)
        writer.line(f"{name} = {inner.scalar(fold.yielded[0]).text};")
    writer.line(f"{name} = {collective}({name});")
    subgroups = workers.mapping.subgroups
    if subgroups > 1:
        part = f"part{len(workers.partials)}"
        workers.partials.append(f"  threadgroup float {part}[{subgroups}];")
        writer.line(f"if (lane == 0) {{ {part}[subgroup] = {name}; }}")
        writer.line("threadgroup_barrier(mem_flags::mem_threadgroup);")
        writer.line(f"{name} = {collective}(lane < {subgroups} ? {part}[lane] : {identity});")
    emission.set_scalar(fold.results[0], unknown(name, element(fold.results[0])))


def emit_owned_store(emission: Emission, operation: Operation) -> None:
    """Every worker stores the elements it owns; a single element is worker 0's."""
    store = cast(StoreTile, operation)
    for place in workers_of(emission).each_owned(emission, tile_space(store.stored)):
        store_point(emission, store, place)


def emit_first_store(emission: Emission, operation: Operation) -> None:
    with emission.writer.block("if (worker == 0)"):
        emit_store_element(emission, operation)


def workers_of(emission: Emission) -> Workers:
    assert isinstance(emission, RowEmission)  # noqa: S101
    return emission.workers
