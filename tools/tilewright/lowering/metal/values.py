"""Emission of constants, element-wise arithmetic, generators, element reads and contraction."""

from __future__ import annotations

from contextlib import ExitStack
from typing import cast

from tilewright.lowering.metal.arithmetic import apply
from tilewright.lowering.metal.emission import Emission, Index, Splat, element, projected, tile_space
from tilewright.lowering.metal.scalars import Scalar, constant
from tilewright.tileir.broadcast import contraction
from tilewright.tileir.graph import Operation
from tilewright.tileir.ops.values import Constant, Elementwise, Extract, Mma, TileMap
from tilewright.tileir.types import TileType, is_scalar


def emit_constant(emission: Emission, operation: Operation) -> None:
    """A literal; a tile is that literal everywhere."""
    for result in operation.results:
        literal = constant(cast(Constant, operation).value, element(result))
        if is_scalar(result.type):
            emission.set_scalar(result, literal)
        else:
            emission.set_tile(result, Splat(literal))


def emit_elementwise(emission: Emission, operation: Operation) -> None:
    """A scalar is computed here, a tile where an element is asked for (unless placement stores it)."""
    code, result = cast(Elementwise, operation).code, operation.result
    target = element(result)
    if is_scalar(result.type):
        operands = tuple(emission.scalar(each) for each in operation.operands)
        emission.set_scalar(result, emission.writer.bind(apply(code, operands, target)))
        return
    space = tile_space(result)
    sources = [(emission.tile(each), tile_space(each)) for each in operation.operands]

    def compute(place: Index) -> Scalar:
        return apply(code, tuple(tile.at(projected(place, source, space)) for tile, source in sources), target)

    if all(isinstance(tile, Splat) for tile, _ in sources):
        operands = tuple(tile.scalar for tile, _ in sources if isinstance(tile, Splat))
        emission.set_tile(result, Splat(emission.writer.bind(apply(code, operands, target))))
    else:
        emission.define(result, compute)


def emit_map(emission: Emission, operation: Operation) -> None:
    """The body is emitted wherever an element is asked for, with its coordinates bound to the index."""
    generator = cast(TileMap, operation)

    def compute(place: Index) -> Scalar:
        inner = emission.child()
        for coordinate, at in zip(generator.coordinates, place, strict=True):
            inner.set_scalar(coordinate, at)
        inner.run(generator.body)
        return inner.scalar(generator.element)

    emission.define(generator.result, compute)


def emit_extract(emission: Emission, operation: Operation) -> None:
    read = cast(Extract, operation)
    place = tuple(emission.scalar(each) for each in read.indices)
    emission.set_scalar(read.result, emission.writer.bind(emission.tile(read.tile).at(place)))


def emit_mma(emission: Emission, operation: Operation) -> None:
    """c copied into an array, then one product added at a time, in ascending order of the contracted index."""
    product = cast(Mma, operation)
    a, b, c = (tile_space(value) for value in product.operands)
    roles = contraction(a, b, c)
    type = product.result.type
    assert roles is not None, product  # noqa: S101
    assert isinstance(type, TileType), product  # noqa: S101
    total = emission.array("t", type)
    emission.fill(total, emission.tile(product.c))
    extents = dict(zip((*a.dims, *b.dims, *c.dims), (*a.shape, *b.shape, *c.shape), strict=True))
    with ExitStack() as loops:
        places = {dim: emission.loop(loops, extents[dim]) for dim in (*roles.contracted, *c.dims)}
        left = emission.tile(product.a).at(tuple(places[dim] for dim in a.dims))
        right = emission.tile(product.b).at(tuple(places[dim] for dim in b.dims))
        slot = total.slot(tuple(places[dim] for dim in c.dims))
        emission.writer.line(f"{slot} = {slot} + {left.text} * {right.text};")
    emission.set_tile(product.result, total)
