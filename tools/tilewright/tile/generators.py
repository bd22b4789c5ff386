"""Tiles made element by element: maps, ramps, splats, relabelling, reductions over axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.tile.axes import Axis
from tilewright.tile.capture import Capture, current
from tilewright.tile.errors import fail
from tilewright.tile.handles import Handle, Operand, Scalar, Tile, combine, operand, payload
from tilewright.tileir.broadcast import broadcasts
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Value
from tilewright.tileir.ops.nests import Reduce
from tilewright.tileir.ops.values import TileMap
from tilewright.tileir.types import INDEX, Element, ScalarType, TileType, element_of, is_scalar, space_of
from tilewright.tileir.vocabulary import Opcode

AxisChoice: TypeAlias = Axis | int | Sequence[Axis | int]
"""Which axes of a tile: axes, or positions as in Python indexing (-1 is the last)."""


def map(shape: object, function: Callable[..., Operand]) -> Tile:
    """The tile whose element (i, j, ...) is `function(i, j, ...)`, a scalar; the body has no memory effect."""
    capture = current()
    return Tile(capture, generate(capture, capture.space(shape), function))


def iota(axis: Axis | int) -> Tile:
    """0, 1, 2, ... along one axis, as i64."""
    return map((axis,), lambda index: index)


def full(shape: object, value: Operand, element: Element | None = None) -> Tile:
    """A tile of one value; a Python number takes `element`, f32 unless given."""
    capture = current()
    space = capture.space(shape)
    if isinstance(value, Handle):
        return Tile(capture, generate(capture, space, lambda *_: value))
    return filled(capture, space, value, element or Element.F32)


def filled(capture: Capture, space: IndexSpace, number: object, element: Element) -> Tile:
    """A tile of one Python number over a given space."""
    with capture.writing() as build:
        return Tile(capture, build.constant(payload(number, element), TileType(element, space)))


def zeros(shape: object, element: Element = Element.F32) -> Tile:
    """A tile of zeros."""
    return full(shape, False if element.is_bool else 0, element)


def generate(capture: Capture, space: IndexSpace, function: Callable[..., Operand]) -> Value:
    """Records a tile.map over a space; the element type is that of what the function returns."""
    with capture.writing() as build:
        operation = TileMap(capture.function, (), (), domain=space, regions=1, place=build.place)
        build.block.append(operation)
        for axis in space.axes:
            operation.body.add_argument(INDEX, axis.dim.name)
        frame = capture.open(operation, operation.body)
        result = operand(capture, function(*(Scalar(capture, each) for each in operation.body.arguments)), None)
        element = element_of(result.type)
        if element is None or not is_scalar(result.type):
            fail(f"the function of a tile.map gives one scalar an element, not {result.type}", rule="map-not-scalar")
        if result.type == INDEX:
            result = combine(Opcode.ADD, Scalar(capture, result), 0).value
        with capture.writing() as inner:
            operation.add_result(TileType(element, space))
            inner.yield_(result)
        capture.close(frame)
        build.block, build.place = capture.frame.block, operation.place
    return operation.result


def resolve(capture: Capture, tile: Handle, axes: AxisChoice) -> list[Dim]:
    """The dims of the chosen axes of a tile."""
    chosen = axes if isinstance(axes, list | tuple) else (axes,)
    space = tile.space
    dims: list[Dim] = []
    for each in chosen:
        dim = capture.dim(each) if isinstance(each, Axis) else None
        if isinstance(each, int) and -space.rank <= each < space.rank:
            dim = space.dims[each]
        if dim is None or space.position(dim) is None or dim in dims:
            fail(f"reduction axes {axes!r} have to be distinct axes of the tile, {space}", rule="reduction-axes")
        dims.append(dim)
    return dims


@dataclass(frozen=True)
class Reducer:
    """A fold: the operation and the value it starts from, for an element type."""

    opcode: Opcode
    identity: Callable[[Element], int | float]


def _lowest(element: Element) -> int | float:
    return -math.inf if element.is_float else element.integer_range()[0]


def _highest(element: Element) -> int | float:
    return math.inf if element.is_float else element.integer_range()[1]


ADD = Reducer(Opcode.ADD, lambda element: 0.0 if element.is_float else 0)
MAXIMUM = Reducer(Opcode.MAX, _lowest)
MINIMUM = Reducer(Opcode.MIN, _highest)


def reduce(tile: Handle, axes: AxisChoice, reducer: Reducer) -> Tile:
    """The ordered fold over some axes of a tile, in ascending order from the identity; the other axes stay.

    A map over the kept axes whose body is a reduce nest over the others.
    """
    capture = current()
    source = operand(capture, tile, None)
    dims = resolve(capture, tile, axes)
    element, space = tile.element, tile.space
    if element.is_bool:
        fail("a reduction is for numbers, not for bool", rule="reduction-of-bool", hint="tile.cast(x, tile.i32)")
    kept = space.without(dims)
    folded = IndexSpace(tuple(axis for axis in space.axes if axis.dim in dims))

    def fold(*coordinates: Scalar) -> Scalar:
        start = operand(capture, reducer.identity(element), element)
        with capture.writing() as build:
            nest = Reduce(capture.function, (start,), (ScalarType(element),), domain=folded, regions=1)
            build.insert(nest)
            for axis in folded.axes:
                nest.body.add_argument(INDEX, axis.dim.name)
            nest.body.add_argument(ScalarType(element))
            index = dict(zip(kept.dims, (each.value for each in coordinates), strict=True))
            index |= dict(zip(folded.dims, nest.coordinates, strict=True))
            with build.inside(nest.body):
                read = build.extract(source, [index[dim] for dim in space.dims])
                build.yield_(build.elementwise(reducer.opcode, nest.carried[0], read))
        return Scalar(capture, nest.result)

    return Tile(capture, generate(capture, kept, fold))


def sum(tile: Handle, axes: AxisChoice) -> Tile:
    """Sum over axes."""
    return reduce(tile, axes, ADD)


def max(tile: Handle, axes: AxisChoice) -> Tile:
    """Largest element over axes."""
    return reduce(tile, axes, MAXIMUM)


def min(tile: Handle, axes: AxisChoice) -> Tile:
    """Smallest element over axes."""
    return reduce(tile, axes, MINIMUM)


def relabel(tile: Handle, shape: object) -> Tile:
    """The same elements under other axes, position by position: rank and extents stay, nothing is transposed."""
    capture = current()
    return Tile(capture, relabelled(capture, tile, capture.space(shape)))


def broadcast_to(tile: Handle, shape: object) -> Tile:
    """The tile over more axes, or the same ones in another order."""
    capture = current()
    return Tile(capture, spread(capture, tile, capture.space(shape)))


def relabelled(capture: Capture, tile: Handle, target: IndexSpace) -> Value:
    """`relabel` to a given space."""
    source = operand(capture, tile, None)
    if tile.space.extents != target.extents:
        fail(f"relabel of {tile.space} to {target} may not change rank or extent", rule="relabel-changes-extent")
    if tile.space == target:
        return source
    return generate(capture, target, lambda *index: _element(capture, source, index))


def spread(capture: Capture, tile: Handle, target: IndexSpace) -> Value:
    """`broadcast_to` to a given space."""
    source, space = operand(capture, tile, None), tile.space
    if not broadcasts(space, target):
        fail(
            f"{space} does not broadcast to {target}: extents of a shared axis have to be equal or singleton",
            rule="not-broadcastable",
        )
    if space == target and space_of(source.type) is not None:
        return source

    def pick(*index: Scalar) -> Handle:
        if space_of(source.type) is None:
            return tile
        by_dim = dict(zip(target.dims, index, strict=True))
        return _element(capture, source, [0 if axis.extent == 1 else by_dim[axis.dim] for axis in space.axes])

    return generate(capture, target, pick)


def conformed(capture: Capture, tile: Handle, target: IndexSpace) -> Value:
    """A tile as a store needs it: broadcast where its axes allow it, else relabelled where the extents agree."""
    if broadcasts(tile.space, target):
        return spread(capture, tile, target)
    return relabelled(capture, tile, target)


def _element(capture: Capture, source: Value, index: Sequence[Scalar | int]) -> Scalar:
    return Tile(capture, source).at(*index)
