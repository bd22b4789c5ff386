"""The state of one interpretation: bindings of values, the arrays behind the views, and the lanes in force."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TypeAlias

import numpy as np

from tilewright.problem import Problem
from tilewright.tileir.dims import Dim, Extent, IndexSpace
from tilewright.tileir.errors import TileIRError, known
from tilewright.tileir.graph import Block, Operation, Value
from tilewright.tileir.interpreter.vector import Array, Vector
from tilewright.tileir.types import space_of
from tilewright.tileir.vocabulary import Kind

Step: TypeAlias = Callable[["Execution", Operation], None]


class Execution:
    """`values` holds what each SSA value is now; None is the state of a memory that was not stored to yet.

    `lanes` are the sizes of the lane axes in force; `symbols` the sizes of dynamic extents.
    """

    def __init__(self, steps: dict[Kind, Step], arrays: dict[Value, Array], symbols: dict[Dim, int]) -> None:
        self.steps = steps
        self.arrays = arrays
        self.symbols = symbols
        self.values: dict[Value, Vector | None] = {}
        self.lanes: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.lanes)

    @property
    def instances(self) -> int:
        return prod(self.lanes)

    def run(self, block: Block) -> None:
        for operation in block.operations:
            self.steps[operation.kind](self, operation)

    def extent(self, extent: Extent) -> int:
        return self.symbols[extent] if isinstance(extent, Dim) else extent

    def shape(self, space: IndexSpace) -> tuple[int, ...]:
        return tuple(self.extent(extent) for extent in space.extents)

    def read(self, value: Value) -> Array:
        """The array of a value with all lane axes in force, then its tile axes."""
        vector = known(self.values[value], value)
        return vector.at_depth(self.depth)

    def write(self, value: Value, data: Array) -> None:
        """Binds a value computed at this depth; tile axes are stretched to their full size."""
        space = space_of(value.type)
        if space is not None:
            shape = data.shape[: self.depth] + self.shape(space)
            data = data if data.shape == shape else np.broadcast_to(data, shape)
        self.values[value] = Vector(data, self.depth)

    def bind(self, targets: Sequence[Value], sources: Sequence[Value]) -> None:
        """Makes the targets equal to what the sources are now, all at once."""
        current = [self.values[source] for source in sources]
        self.values.update(zip(targets, current, strict=True))

    @contextmanager
    def more_lanes(self, sizes: tuple[int, ...]) -> Iterator[None]:
        outer, self.lanes = self.lanes, self.lanes + sizes
        try:
            yield
        finally:
            self.lanes = outer


def refuse(operation: Operation, what: str, rule: str, hint: str = "") -> TileIRError:
    """The error of an operation that cannot be executed with these arguments."""
    name = operation.function.name
    return TileIRError([Problem(f"`{operation.kind.value}` of `{name}`: {what}", operation.place, hint, rule)])
