"""Emission of constants, element-wise arithmetic, generators, element reads and contraction."""

from __future__ import annotations

from contextlib import ExitStack
from typing import cast

from tilewright.lowering.cuda.arithmetic import apply
from tilewright.lowering.cuda.emission import UNROLLED_STEPS, Emission, element, tile_space
from tilewright.lowering.cuda.placement import REGISTERS, iterations, volume
from tilewright.lowering.cuda.scalars import Scalar, constant, flat_index, integer_constant
from tilewright.lowering.cuda.tiles import Index, Splat, Tile, projected
from tilewright.tileir.broadcast import contraction
from tilewright.tileir.dims import Dim
from tilewright.tileir.graph import Operation, Value
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
    sources = [operand(emission, each) for each in operation.operands]
    spaces = [tile_space(each) for each in operation.operands]

    def compute(index: Index) -> Scalar:
        values = tuple(tile.at(projected(index, source, space)) for tile, source in zip(sources, spaces, strict=True))
        return apply(code, values, target)

    if all(isinstance(source, Splat) for source in sources):
        anywhere = (integer_constant(0),) * space.rank
        emission.set_tile(result, Splat(emission.writer.bind(compute(anywhere))))
    else:
        emission.set_tile(result, emission.deferred(compute))


def operand(emission: Emission, value: Value) -> Tile:
    """A tile operand, or a scalar operand as a splat."""
    return Splat(emission.scalar(value)) if is_scalar(value.type) else emission.tile(value)


def emit_map(emission: Emission, operation: Operation) -> None:
    """The body is emitted wherever an element is asked for, with its coordinates bound to the index."""
    generator = cast(TileMap, operation)

    def compute(index: Index) -> Scalar:
        inner = emission.child()
        for coordinate, place in zip(generator.coordinates, index, strict=True):
            inner.set_scalar(coordinate, place)
        inner.run(generator.body)
        return inner.scalar(generator.element)

    emission.set_tile(generator.result, emission.deferred(compute))


def emit_extract(emission: Emission, operation: Operation) -> None:
    read = cast(Extract, operation)
    index = tuple(emission.scalar(each) for each in read.indices)
    emission.set_scalar(read.result, emission.writer.bind(emission.tile(read.tile).at(index)))


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
    order: tuple[Dim, ...] = (*roles.contracted, *c.dims)
    whole = iterations(product) <= UNROLLED_STEPS and max(map(volume, (a, b, c))) <= REGISTERS
    with ExitStack() as loops:
        place = {dim: emission.loop(loops, extents[dim], whole=whole) for dim in order}
        left = emission.tile(product.a).at(tuple(place[dim] for dim in a.dims))
        right = emission.tile(product.b).at(tuple(place[dim] for dim in b.dims))
        text, _ = flat_index(tuple(place[dim] for dim in c.dims), c.strides())
        slot = f"{total.name}[{text}]"
        emission.writer.line(f"{slot} = {slot} + {left.text} * {right.text};")
    emission.set_tile(product.result, total)
