"""Interpretation of execution nests and manual memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import cast

import numpy as np

from tilewright.tileir.graph import Function, Operation
from tilewright.tileir.interpreter.execution import Execution, Step, refuse
from tilewright.tileir.interpreter.vector import along
from tilewright.tileir.ops.memory import Alloc, MemoryLoad, MemoryStore
from tilewright.tileir.ops.nests import Custom, OrderedNest, Parallel
from tilewright.tileir.types import TileType
from tilewright.tileir.vocabulary import Kind

ELEMENTS_AT_ONCE = 2**22
"""About how many elements one array may have: instances beyond that run in a later chunk."""


def parallel(execution: Execution, operation: Operation) -> None:
    """All instances at once, in chunks so that the widest tile stays within ELEMENTS_AT_ONCE."""
    nest = cast(Parallel, operation)
    shape = execution.shape(nest.space)
    room = ELEMENTS_AT_ONCE // max(1, execution.instances * widest_tile(execution, operation.function))
    outer = execution.depth
    for chunk in chunks(shape, max(1, room)):
        sizes = tuple(len(part) for part in chunk)
        with execution.more_lanes(sizes):
            for place, (coordinate, part) in enumerate(zip(nest.coordinates, chunk, strict=True)):
                execution.write(coordinate, along(len(part), outer + place, execution.depth, part.start))
            execution.run(nest.body)


def chunks(shape: tuple[int, ...], room: int) -> Iterator[tuple[range, ...]]:
    """Boxes of at most `room` points that cover the shape in row-major order: (4, 6), 12 gives two of (2, 6)."""
    if prod(shape) == 0:
        return
    sizes: list[int] = []
    for extent in reversed(shape):
        size = max(1, min(extent, room))
        sizes.insert(0, size)
        room //= size
    steps = [
        [range(start, min(start + size, extent)) for start in range(0, extent, size)]
        for extent, size in zip(shape, sizes, strict=True)
    ]
    yield from product(*steps)


def widest_tile(execution: Execution, function: Function) -> int:
    """Elements of the largest tile that the function computes."""
    volumes = [
        prod(execution.shape(result.type.space))
        for operation in function.walk()
        for result in operation.results
        if isinstance(result.type, TileType)
    ]
    return max(volumes, default=1)


def ordered(execution: Execution, operation: Operation) -> None:
    """Serial, pipeline and reduce: one iteration after the other, all carries updated together."""
    nest = cast(OrderedNest, operation)
    shape = execution.shape(nest.space)
    execution.bind(nest.results, nest.initial)
    for point in np.ndindex(shape):
        for coordinate, index in zip(nest.coordinates, point, strict=True):
            execution.write(coordinate, np.full((1,) * execution.depth, index, np.int64))
        execution.bind(nest.carried, nest.results)
        execution.run(nest.body)
        execution.bind(nest.results, nest.yielded)


def nothing(execution: Execution, operation: Operation) -> None:
    """Stage cuts and yields: the nest reads what is yielded."""


def custom(execution: Execution, operation: Operation) -> None:
    name = cast(Custom, operation).attributes.get("name")
    raise refuse(operation, f"the extension {name!r} has no meaning here", "custom-operation")


def alloc(execution: Execution, operation: Operation) -> None:
    execution.values[cast(Alloc, operation).state] = None


def memory_load(execution: Execution, operation: Operation) -> None:
    load = cast(MemoryLoad, operation)
    execution.bind([load.result], [load.state])


def memory_store(execution: Execution, operation: Operation) -> None:
    """The new state *is* the stored tile: the object is written whole, whatever its layout."""
    store = cast(MemoryStore, operation)
    execution.bind([store.result], [store.stored])


NESTS: dict[Kind, Step] = {
    Kind.PARALLEL: parallel,
    Kind.SERIAL: ordered,
    Kind.PIPELINE: ordered,
    Kind.REDUCE: ordered,
    Kind.STAGE: nothing,
    Kind.YIELD: nothing,
    Kind.CUSTOM: custom,
    Kind.ALLOC: alloc,
    Kind.MEMORY_LOAD: memory_load,
    Kind.MEMORY_STORE: memory_store,
}
