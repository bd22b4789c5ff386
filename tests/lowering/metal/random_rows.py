"""Random row programs: chains of tiles, reductions of them, scalars of the row, stores of either."""

from __future__ import annotations

import random

from tileir.kernels import fold
from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Function, Module, Value
from tilewright.tileir.types import F32, Element, space_of
from tilewright.tileir.vocabulary import Opcode

REDUCERS = ((Opcode.ADD, 0.0), (Opcode.MAX, -float("inf")), (Opcode.MIN, float("inf")))


def random_row_program(seed: int) -> Function:
    """x (rows, n) and w (n,) to y (rows, n) and s (rows,): values stay tame, so that rounding decides nothing."""
    draw = random.Random(seed)
    module = Module()
    build = Builder(module.function(f"rows_{seed}"))
    rows, columns = draw.choice([1, 3, 11]), draw.choice([1, 2, 31, 32, 33, 100, 128, 300])
    stored = draw.choice([columns, columns + 5, max(1, columns - 3)])
    x = build.view("x", Element.F32, (rows, stored))
    w = build.view("w", Element.F32, (columns,))
    y = build.view("y", Element.F32, (rows, columns))
    s = build.view("s", Element.F32, (rows,))
    one, n = module.dim("one"), module.dim("n")
    space = IndexSpace.of((one, 1), (n, columns))
    with build.parallel(IndexSpace.of((module.dim("row"), rows))) as nest:
        row = nest.coordinates[0]
        at = [row, build.index(0)]
        fill = build.constant(draw.choice([-1.0, 0.5]), F32) if draw.random() < 0.5 else None
        tiles = [build.load(x, at, space, fill=fill), build.load(w, [build.index(0)], IndexSpace.of((n, columns)))]
        sums: list[Value] = []

        def chain() -> Value:
            value = draw.choice(tiles)
            for _ in range(draw.randint(1, 3)):
                other = draw.choice([*tiles, *sums, build.constant(round(draw.uniform(-2, 2), 2), F32)])
                code = draw.choice([Opcode.ADD, Opcode.SUB, Opcode.MAX, Opcode.MIN, Opcode.MUL])
                value = build.elementwise(Opcode.TANH, build.elementwise(code, value, other))
            if draw.random() < 0.4:
                value = build.elementwise(Opcode.EXP, value)
            return value

        for _ in range(draw.randint(1, 4)):
            tiles.append(chain())
            if draw.random() < 0.8 or not sums:
                opcode, identity = draw.choice(REDUCERS)
                tile = draw.choice(tiles)
                sums.append(build.elementwise(Opcode.TANH, fold(build, tile, n, opcode, identity)))
        zero = build.elementwise(Opcode.MUL, tiles[0], build.constant(0.0, F32))
        build.store(y, at, build.elementwise(Opcode.ADD, zero, draw.choice(tiles[2:])))
        total = draw.choice(sums)
        if draw.random() < 0.5:
            index = [build.index(0)] if len(total_space(total)) == 1 else []
            build.store_element(s, [row], build.extract(total, index))
        else:
            kept = IndexSpace.of((one, 1))
            with build.tile_map(kept, Element.F32) as generator:
                build.yield_(build.extract(total, [build.index(0) for _ in total_space(total)]))
            build.store(s, [row], generator.result)
    return build.function


def total_space(value: Value) -> tuple[int, ...]:
    """The extents of a tile."""
    space = space_of(value.type)
    return space.shape if space else ()
