"""Functions that a Metal form refuses for one reason, built without the DSL."""

from __future__ import annotations

from collections.abc import Callable

from tileir.kernels import fold
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Function, Module, Value
from tilewright.tileir.types import F32, Element, ScalarType, TileType
from tilewright.tileir.vocabulary import Opcode, Scope

Body = Callable[["Rows"], None]


class Rows:
    """The parts of a row kernel under construction: y = x summed, and whatever a test puts in between."""

    def __init__(self, columns: int, kept: int) -> None:
        self.module = Module()
        self.build = Builder(self.module.function("rows"))
        self.x = self.build.view("x", Element.F32, (8, columns))
        self.y = self.build.view("y", Element.F32, (8,))
        self.z = self.build.view("z", Element.F32, (8, columns))
        self.one, self.n = self.module.dim("one"), self.module.dim("n")
        self.space = IndexSpace.of((self.one, kept), (self.n, columns))
        self.row: Value
        self.loaded: Value

    def sum(self, opcode: Opcode = Opcode.ADD, identity: float = 0.0) -> Value:
        return fold(self.build, self.loaded, self.n, opcode, identity)


def rows(body: Body, *, columns: int = 40, kept: int = 1, scope: Scope | None = Scope.SUBGROUP) -> Function:
    """A kernel of 8 rows whose body a test writes; `loaded` is the row of x."""
    made = Rows(columns, kept)
    build = made.build
    with build.parallel(IndexSpace.of((made.module.dim("row"), 8 // kept)), scope) as nest:
        made.row = nest.coordinates[0]
        made.loaded = build.load(made.x, [made.row, build.index(0)], made.space)
        body(made)
    return build.function


def stored_sum(made: Rows) -> None:
    made.build.store(made.y, [made.row], made.sum())


def wrong_fold(opcode: Opcode, identity: float) -> Body:
    def body(made: Rows) -> None:
        made.build.store(made.y, [made.row], made.sum(opcode, identity))

    return body


def observed_carry(made: Rows) -> None:
    """The next carry is carry + element, and the contribution looks at the carry too."""
    build = made.build
    with build.tile_map(IndexSpace.of((made.one, 1)), Element.F32) as generator:
        start = build.constant(0.0, F32)
        with build.reduce(IndexSpace.of((made.n, 40)), [start]) as nest:
            element = build.extract(made.loaded, [generator.coordinates[0], nest.coordinates[0]])
            half = build.elementwise(Opcode.MUL, nest.carried[0], element)
            build.yield_(build.elementwise(Opcode.ADD, nest.carried[0], half))
        build.yield_(nest.results[0])
    build.store(made.y, [made.row], generator.result)


def integer_fold(made: Rows) -> None:
    build = made.build
    space = IndexSpace.of((made.one, 1))
    with build.tile_map(space, Element.I32) as generator:
        start = build.constant(0, ScalarType(Element.I32))
        with build.reduce(IndexSpace.of((made.n, 40)), [start]) as nest:
            element = build.extract(made.loaded, [generator.coordinates[0], nest.coordinates[0]])
            build.yield_(build.elementwise(Opcode.ADD, nest.carried[0], build.cast(element, Element.I32)))
        build.yield_(nest.results[0])
    build.store(made.y, [made.row], build.cast(generator.result, Element.F32))


def loop_around(made: Rows) -> None:
    build = made.build
    start = build.constant(0.0, TileType(Element.F32, IndexSpace.of((made.one, 1))))
    with build.serial(IndexSpace.of((made.module.dim("t"), 2)), [start]) as nest:
        build.yield_(build.elementwise(Opcode.ADD, nest.carried[0], made.sum()))
    build.store(made.y, [made.row], nest.results[0])


def nested_parallel(made: Rows) -> None:
    build = made.build
    total = made.sum()
    with build.parallel(IndexSpace.of((made.module.dim("w"), 1)), Scope.WORKER):
        build.store(made.y, [made.row], total)


def aliased(made: Rows) -> None:
    """z is read and written."""
    build = made.build
    at = [made.row, build.index(0)]
    other = build.load(made.z, at, made.space)
    build.store(made.z, at, build.elementwise(Opcode.ADD, other, made.sum()))


def stored_twice(made: Rows) -> None:
    build = made.build
    at = [made.row, build.index(0)]
    build.store(made.z, at, build.elementwise(Opcode.MUL, made.loaded, made.sum()))
    build.store(made.z, at, made.loaded)


def manual_memory(made: Rows) -> None:
    build = made.build
    alloc = build.alloc(Element.F32, made.space)
    state = build.memory_store(alloc.memory, alloc.state, made.loaded)
    held = build.memory_load(alloc.memory, state)
    build.store(made.y, [made.row], fold(build, held, made.n, Opcode.ADD, 0.0))


def no_reduction(made: Rows) -> None:
    made.build.store(made.z, [made.row, made.build.index(0)], made.loaded)


def permuted(made: Rows) -> None:
    """exp(x) stored in reverse: every worker would read what another one owns."""
    build = made.build
    powers = build.elementwise(Opcode.EXP, made.loaded)
    total = fold(build, powers, made.n, Opcode.ADD, 0.0)
    with build.tile_map(made.space, Element.F32) as generator:
        one, place = generator.coordinates
        mirrored = build.elementwise(Opcode.SUB, build.index(39), place)
        build.yield_(build.extract(powers, [one, mirrored]))
    build.store(made.z, [made.row, build.index(0)], build.elementwise(Opcode.DIV, generator.result, total))


def fixed_index(made: Rows) -> None:
    """The element 3 of a striped tile, read by every worker."""
    build = made.build
    powers = build.elementwise(Opcode.EXP, made.loaded)
    total = fold(build, powers, made.n, Opcode.ADD, 0.0)
    third = build.extract(powers, [build.index(0), build.index(3)])
    scaled = build.elementwise(Opcode.MUL, build.elementwise(Opcode.DIV, powers, total), third)
    build.store(made.z, [made.row, build.index(0)], scaled)


def many_views(count: int) -> Function:
    """The sums of one row of each of many views, added."""
    module = Module()
    build = Builder(module.function("many"))
    views = [build.view(f"x{place}", Element.F32, (8, 40)) for place in range(count - 1)]
    y = build.view("y", Element.F32, (8,))
    one, n = module.dim("one"), module.dim("n")
    with build.parallel(IndexSpace.of((module.dim("row"), 8)), Scope.SUBGROUP) as nest:
        row = nest.coordinates[0]
        loads = [build.load(view, [row, build.index(0)], IndexSpace.of((one, 1), (n, 40))) for view in views]
        total = fold(build, loads[0], n, Opcode.ADD, 0.0)
        for loaded in loads[1:]:
            total = build.elementwise(Opcode.ADD, total, fold(build, loaded, n, Opcode.ADD, 0.0))
        build.store(y, [row], total)
    return build.function
