"""The evidence kernels, built with the builder alone: axpb, softmax, GEMM in four transposes, rms_norm."""

from __future__ import annotations

import math

from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Function, Module, Value
from tilewright.tileir.types import F32, I64, Element, ScalarType, TileType, space_of
from tilewright.tileir.vocabulary import Opcode


def start(name: str) -> tuple[Module, Builder]:
    module = Module()
    return module, Builder(module.function(name))


def axpb(length: int = 1003, tile: int = 64) -> Function:
    """y = x > 0 ? 1.25 x - 0.5 : -x, in tiles whose last one is ragged."""
    module, build = start("axpb")
    x = build.view("x", Element.F32, (length,))
    y = build.view("y", Element.F32, (length,))
    elements = IndexSpace.of((module.dim("e"), tile))
    with build.parallel(IndexSpace.of((module.dim("g"), -(-length // tile)))) as nest:
        origin = build.elementwise(Opcode.MUL, nest.coordinates[0], build.index(tile))
        loaded = build.load(x, [origin], elements)
        positive = build.elementwise(Opcode.GT, loaded, build.constant(0.0, F32))
        scaled = build.elementwise(Opcode.MUL, loaded, build.constant(1.25, F32))
        shifted = build.elementwise(Opcode.SUB, scaled, build.constant(0.5, F32))
        negated = build.elementwise(Opcode.NEG, loaded)
        build.store(y, [origin], build.elementwise(Opcode.SELECT, positive, shifted, negated))
    return build.function


def fold(build: Builder, tile: Value, dim: Dim, opcode: Opcode, identity: float) -> Value:
    """The reduction of a tile over one dim: a map over the kept axes whose body folds in order."""
    module = build.function.module
    space = space_of(tile.type)
    assert module is not None
    assert space is not None
    kept = space.without([dim])
    folded = IndexSpace(tuple(axis for axis in space.axes if axis.dim is dim))
    with build.tile_map(kept, Element.F32) as generator:
        initial = build.constant(identity, F32)
        with build.reduce(folded, [initial]) as nest:
            index = dict(zip(kept.dims, generator.coordinates, strict=True)) | {dim: nest.coordinates[0]}
            element = build.extract(tile, [index[each] for each in space.dims])
            build.yield_(build.elementwise(opcode, nest.carried[0], element))
        build.yield_(nest.results[0])
    return generator.result


def softmax(rows: int = 17, columns: int = 7) -> Function:
    """One program a row: exp(x - max) / sum."""
    module, build = start("softmax")
    x = build.view("x", Element.F32, (rows, columns))
    y = build.view("y", Element.F32, (rows, columns))
    one, n = module.dim("one"), module.dim("n")
    row = IndexSpace.of((one, 1), (n, columns))
    with build.parallel(IndexSpace.of((module.dim("row"), rows))) as nest:
        at = [nest.coordinates[0], build.index(0)]
        loaded = build.load(x, at, row)
        top = fold(build, loaded, n, Opcode.MAX, -math.inf)
        powers = build.elementwise(Opcode.EXP, build.elementwise(Opcode.SUB, loaded, top))
        total = fold(build, powers, n, Opcode.ADD, 0.0)
        build.store(y, at, build.elementwise(Opcode.DIV, powers, total))
    return build.function


def rms_norm(rows: int = 17, columns: int = 32, epsilon: float = 1e-5) -> Function:
    """One program a row: x / sqrt(mean(x^2) + epsilon) * weight."""
    module, build = start("rms_norm")
    x = build.view("x", Element.F32, (rows, columns))
    weight = build.view("weight", Element.F32, (columns,))
    y = build.view("y", Element.F32, (rows, columns))
    one, n = module.dim("one"), module.dim("n")
    with build.parallel(IndexSpace.of((module.dim("row"), rows))) as nest:
        at = [nest.coordinates[0], build.index(0)]
        loaded = build.load(x, at, IndexSpace.of((one, 1), (n, columns)))
        scale = build.load(weight, [build.index(0)], IndexSpace.of((n, columns)))
        squares = fold(build, build.elementwise(Opcode.MUL, loaded, loaded), n, Opcode.ADD, 0.0)
        mean = build.elementwise(Opcode.DIV, squares, build.constant(float(columns), F32))
        root = build.elementwise(Opcode.SQRT, build.elementwise(Opcode.ADD, mean, build.constant(epsilon, F32)))
        normal = build.elementwise(Opcode.DIV, loaded, root)
        build.store(y, at, build.elementwise(Opcode.MUL, normal, scale))
    return build.function


def gemm(
    shape: tuple[int, int, int] = (17, 19, 13),
    tile: tuple[int, int, int] = (2, 3, 4),
    *,
    transposed: tuple[bool, bool] = (False, False),
    start_value: float = 0.0,
    allow_reassociation: bool = True,
    pipelined: bool = True,
) -> Function:
    """C = start_value + op(A) op(B), one program a tile of C, K in ordered tiles; A or B may be stored transposed."""
    (rows, columns, depth), (tile_m, tile_n, tile_k) = shape, tile
    module, build = start("gemm")
    a = build.view("a", Element.F32, (depth, rows) if transposed[0] else (rows, depth))
    b = build.view("b", Element.F32, (columns, depth) if transposed[1] else (depth, columns))
    c = build.view("c", Element.F32, (rows, columns))
    m, n, k = (module.dim(name) for name in "mnk")
    blocks = IndexSpace.of((module.dim("gm"), -(-rows // tile_m)), (module.dim("gn"), -(-columns // tile_n)))
    steps = IndexSpace.of((module.dim("step"), -(-depth // tile_k)))
    result = IndexSpace.of((m, tile_m), (n, tile_n))

    def along(axes: list[tuple[Dim, int]], origins: list[Value], view: Value, flip: bool) -> Value:
        if flip:
            axes, origins = axes[::-1], origins[::-1]
        return build.load(view, origins, IndexSpace.of(*axes))

    with build.parallel(blocks) as nest:
        row = build.elementwise(Opcode.MUL, nest.coordinates[0], build.index(tile_m))
        column = build.elementwise(Opcode.MUL, nest.coordinates[1], build.index(tile_n))
        zero = build.constant(start_value, TileType(Element.F32, result))
        loop = build.pipeline(steps, [zero], stages=2) if pipelined else build.serial(steps, [zero])
        with loop as inner:
            at = build.elementwise(Opcode.MUL, inner.coordinates[0], build.index(tile_k))
            left = along([(m, tile_m), (k, tile_k)], [row, at], a, transposed[0])
            right = along([(k, tile_k), (n, tile_n)], [at, column], b, transposed[1])
            build.yield_(build.mma(left, right, inner.carried[0], allow_reassociation=allow_reassociation))
        build.store(c, [row, column], inner.results[0])
    return build.function


def recurrence(programs: int = 19, trips: int = 5, *, pipelined: bool = False) -> Function:
    """(p, q) = (q, p + q) each trip from (x, 1), two carries that swap; x is overwritten by 17 after it was read."""
    module, build = start("recurrence")
    x = build.view("x", Element.F32, (programs,))
    y = build.view("y", Element.F32, (programs,))
    one = IndexSpace.of((module.dim("one"), 1))
    steps = IndexSpace.of((module.dim("t"), trips))
    with build.parallel(IndexSpace.of((module.dim("i"), programs))) as nest:
        at = [nest.coordinates[0]]
        read = build.load(x, at, one)
        build.store(x, at, build.constant(17.0, TileType(Element.F32, one)))
        initial = [read, build.constant(1.0, TileType(Element.F32, one))]
        loop = build.pipeline(steps, initial) if pipelined else build.serial(steps, initial)
        with loop as inner:
            p, q = inner.carried
            build.yield_(q, build.elementwise(Opcode.ADD, p, q))
        build.store(y, at, inner.results[0])
    return build.function


def clipped_origin(factor: int) -> Function:
    """Three programs on a view of length 2: program i copies from (i - 1) * factor with zero fill."""
    module, build = start("clipped_origin")
    x = build.view("x", Element.F32, (2,))
    y = build.view("y", Element.F32, (3,))
    one = IndexSpace.of((module.dim("one"), 1))
    with build.parallel(IndexSpace.of((module.dim("i"), 3))) as nest:
        moved = build.elementwise(Opcode.SUB, nest.coordinates[0], build.index(1))
        origin = build.elementwise(Opcode.MUL, moved, build.constant(factor, I64))
        build.store(y, [nest.coordinates[0]], build.load(x, [origin], one))
    return build.function


def gather(rows: int = 5, columns: int = 8) -> Function:
    """y[r] = x[r, label[r]], or -1 where the label is outside: a guarded element read."""
    module, build = start("gather")
    x = build.view("x", Element.F32, (rows, columns))
    label = build.view("label", Element.I32, (rows,))
    y = build.view("y", Element.F32, (rows,))
    with build.parallel(IndexSpace.of((module.dim("r"), rows))) as nest:
        row = nest.coordinates[0]
        index = build.cast(build.load_element(label, [row]), Element.I64)
        low = build.elementwise(Opcode.GE, index, build.index(0))
        high = build.elementwise(Opcode.LT, index, build.index(columns))
        inside = build.elementwise(Opcode.AND, low, high)
        build.store_element(y, [row], build.load_element(x, [row, index], inside, build.constant(-1.0, F32)))
    return build.function


def memory_sum(rows: int = 4, columns: int = 6) -> Function:
    """Each program stores its row into manual memory, doubles it there `columns` times, stores it out."""
    module, build = start("memory_sum")
    x = build.view("x", Element.F32, (rows, columns))
    y = build.view("y", Element.F32, (rows, columns))
    space = IndexSpace.of((module.dim("one"), 1), (module.dim("n"), columns))
    with build.parallel(IndexSpace.of((module.dim("r"), rows))) as nest:
        at = [nest.coordinates[0], build.index(0)]
        alloc = build.alloc(Element.F32, space)
        state = build.memory_store(alloc.memory, alloc.state, build.load(x, at, space))
        with build.serial(IndexSpace.of((module.dim("t"), columns)), [state]) as inner:
            current = build.memory_load(alloc.memory, inner.carried[0])
            doubled = build.elementwise(Opcode.ADD, current, current)
            build.yield_(build.memory_store(alloc.memory, inner.carried[0], doubled))
        build.store(y, at, build.memory_load(alloc.memory, inner.results[0]))
    return build.function


def nested_parallel(rows: int = 3, columns: int = 5) -> Function:
    """y[r, c] = 10 r + c by a parallel inside a parallel."""
    module, build = start("nested_parallel")
    y = build.view("y", Element.F32, (rows, columns))
    with (
        build.parallel(IndexSpace.of((module.dim("r"), rows))) as outer,
        build.parallel(IndexSpace.of((module.dim("c"), columns))) as inner,
    ):
        ten = build.elementwise(Opcode.MUL, outer.coordinates[0], build.index(10))
        flat = build.elementwise(Opcode.ADD, ten, inner.coordinates[0])
        value = build.elementwise(Opcode.CAST, flat, type=ScalarType(Element.F32))
        build.store_element(y, [outer.coordinates[0], inner.coordinates[0]], value)
    return build.function


ALL = (axpb, softmax, rms_norm, gemm, recurrence, gather, memory_sum, nested_parallel)
"""Kernels that can be built without arguments."""
