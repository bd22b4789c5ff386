"""Interpretation of constants, element-wise arithmetic, generators, element reads and contraction."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tilewright.tileir.broadcast import contraction
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.errors import known
from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.interpreter.arithmetic import ARITHMETIC
from tilewright.tileir.interpreter.execution import Execution, Step, refuse
from tilewright.tileir.interpreter.vector import COMPUTE, Array, aligned, along
from tilewright.tileir.ops.values import Constant, Elementwise, Extract, Mma, TileMap
from tilewright.tileir.types import element_of, space_of
from tilewright.tileir.vocabulary import Kind, Opcode


def constant(execution: Execution, operation: Operation) -> None:
    value = cast(Constant, operation).value
    for result in operation.results:
        element, space = element_of(result.type), space_of(result.type) or IndexSpace()
        assert element is not None, operation  # noqa: S101
        single = np.full((1,) * (execution.depth + space.rank), value, COMPUTE[element])
        execution.write(result, single)


def elementwise(execution: Execution, operation: Operation) -> None:
    code = cast(Elementwise, operation).code
    target = space_of(operation.result.type) or IndexSpace()
    operands = [in_space(execution, value, target) for value in operation.operands]
    if code is not Opcode.CAST:
        execution.write(operation.result, np.asarray(ARITHMETIC[code](*operands)))
        return
    element = known(element_of(operation.result.type), operation)
    data = operands[0]
    execution.write(operation.result, (data != 0) if element.is_bool else data.astype(COMPUTE[element]))


def in_space(execution: Execution, value: Value, target: IndexSpace) -> Array:
    """The operand with the tile axes of the target, singleton where it does not vary."""
    data = execution.read(value)
    space = space_of(value.type) or IndexSpace()
    return aligned(data, execution.depth, space.dims, target.dims)


def tile_map(execution: Execution, operation: Operation) -> None:
    generator = cast(TileMap, operation)
    assert generator.domain is not None, generator  # noqa: S101
    shape = execution.shape(generator.domain)
    outer = execution.depth
    with execution.more_lanes(shape):
        for place, coordinate in enumerate(generator.coordinates):
            execution.write(coordinate, along(shape[place], outer + place, execution.depth))
        execution.run(generator.body)
        data = execution.read(generator.element)
    execution.write(generator.result, np.broadcast_to(data, data.shape[:outer] + shape))


def extract(execution: Execution, operation: Operation) -> None:
    read = cast(Extract, operation)
    data, depth = execution.read(read.tile), execution.depth
    indices = [execution.read(index).astype(np.int64, copy=False) for index in read.indices]
    for index, size in zip(indices, data.shape[depth:], strict=True):
        if index.size and (index.min() < 0 or index.max() >= size):
            raise refuse(operation, f"index {_outside(index, size)} is outside 0..{size - 1}", "outside-tile")
    if all(index.size == 1 for index in indices):
        execution.write(read.result, data[single_element(indices)])
        return
    lanes = [along(size, place, depth) for place, size in enumerate(data.shape[:depth])]
    execution.write(read.result, data[(*lanes, *indices)])


def single_element(indices: list[Array]) -> tuple[Any, ...]:
    """The subscript that picks one element of each lane's tile without copying the lanes."""
    return (..., *(int(index.flat[0]) for index in indices))


def _outside(index: Array, size: int) -> int:
    return int(index[(index < 0) | (index >= size)].flat[0])


def mma(execution: Execution, operation: Operation) -> None:
    product = cast(Mma, operation)
    spaces = [space_of(value.type) for value in product.operands]
    a, b, c = (space or IndexSpace() for space in spaces)
    roles = known(contraction(a, b, c), operation)
    depth = execution.depth

    def matrices(value: Value, space: IndexSpace, *groups: tuple[object, ...]) -> Array:
        order = tuple(dim for group in groups for dim in space.dims if dim in group)
        ordered = tuple(sorted(order, key=[dim for group in groups for dim in group].index))
        data = aligned(execution.read(value), depth, space.dims, ordered)
        sizes = iter(data.shape[depth:])
        folded = [int(np.prod([next(sizes) for _ in group], dtype=np.int64)) for group in groups]
        return data.reshape(data.shape[:depth] + tuple(folded))

    left = matrices(product.a, a, roles.batch, roles.rows, roles.contracted)
    right = matrices(product.b, b, roles.batch, roles.contracted, roles.columns)
    start = matrices(product.c, c, roles.batch, roles.rows, roles.columns)
    total = start + np.matmul(left, right)
    order = (*roles.batch, *roles.rows, *roles.columns)
    sizes = tuple(execution.extent(c.extent_of(dim) or 0) for dim in order)
    unfolded = total.reshape(total.shape[:depth] + sizes)
    execution.write(product.result, aligned(unfolded, depth, order, c.dims))


VALUES: dict[Kind, Step] = {
    Kind.CONSTANT: constant,
    Kind.ELEMENTWISE: elementwise,
    Kind.TILE_MAP: tile_map,
    Kind.EXTRACT: extract,
    Kind.MMA: mma,
}
