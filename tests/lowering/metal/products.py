"""A native matrix product by the builder, with one thing about it different."""

from __future__ import annotations

from tilewright.tileir.builder import Builder
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Module
from tilewright.tileir.types import F32, Element, TileType
from tilewright.tileir.vocabulary import Opcode, Scope


def product(
    *,
    shape=(32, 32, 32),
    block=(16, 16),
    element=Element.F32,
    depth=None,
    k_origin=0,
    left_shift=0,
    fill=False,
    reused=False,
    epilogue=False,
    accumulator="zero",
    reversed_result=False,
    scope=Scope.GROUP,
    child=None,
    grandchild=None,
    factor=1,
    modulo=False,
):
    """A product by the builder, with one thing about it different."""
    rows, columns, whole = shape
    bm, bn = block
    module = Module()
    build = Builder(module.function("product"))
    a = build.view("a", element, (rows, whole))
    b = build.view("b", element, (whole, columns))
    c = build.view("c", element, (rows, columns))
    m, n, k = (module.dim(name) for name in "mnk")
    bk = depth or whole

    def body(row, column):
        start = build.index(k_origin)
        shifted = build.elementwise(Opcode.ADD, row, build.index(left_shift)) if left_shift else row
        zero = build.constant(0.0, F32) if fill else None
        left = build.load(a, [shifted, start], IndexSpace.of((m, bm), (k, bk)), fill=zero)
        right = build.load(b, [start, column], IndexSpace.of((k, bk), (n, bn)))
        result = IndexSpace.of((n, bn), (m, bm)) if reversed_result else IndexSpace.of((m, bm), (n, bn))
        values = {"zero": 0.0, "one": 1.0, "negative zero": -0.0}
        if accumulator in values:
            initial = build.constant(values[accumulator], TileType(element, result))
        else:
            initial = build.load(c, [row, column], result)
        found = build.mma(left, right, initial)
        if reused:
            build.mma(left, right, initial)
        if epilogue:
            found = build.elementwise(Opcode.ADD, found, build.constant(1.0, F32))
        build.store(c, [column, row] if reversed_result else [row, column], found)

    blocks = IndexSpace.of((module.dim("gm"), rows // bm), (module.dim("gn"), columns // bn))
    with build.parallel(blocks, scope) as nest:
        row = build.elementwise(Opcode.MUL, nest.coordinates[0], build.index(bm * factor))
        if modulo:
            row = build.elementwise(Opcode.MOD, row, build.index(rows))
        column = build.elementwise(Opcode.MUL, nest.coordinates[1], build.index(bn))
        if child is None:
            body(row, column)
        else:
            with build.parallel(IndexSpace.of((module.dim("s"), 1)), child):
                if grandchild is None:
                    body(row, column)
                else:
                    with build.parallel(IndexSpace.of((module.dim("v"), 1)), grandchild):
                        body(row, column)
    return build.function


def tile_type(module, rows, columns):
    return TileType(Element.F32, IndexSpace.of((module.dim("m"), rows), (module.dim("n"), columns)))
