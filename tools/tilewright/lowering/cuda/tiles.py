"""How the emitted program holds a tile: one value, a private array, or a computation done where an element is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.lowering.cuda.scalars import Scalar, flat_index, integer_constant
from tilewright.lowering.cuda.writer import Writer
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.types import Element

Index = tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Splat:
    """Every element is the same scalar."""

    value: Scalar

    def at(self, index: Index) -> Scalar:
        return self.value


@dataclass(frozen=True, eq=False)
class PrivateArray:
    """Row-major elements in an array of the thread."""

    name: str
    space: IndexSpace
    element: Element

    def at(self, index: Index) -> Scalar:
        text, _ = flat_index(index, self.space.strides())
        bounds = self.element.integer_range() if self.element.is_integer else (0, 0)
        return Scalar(f"{self.name}[{text}]", self.element, bounds)


@dataclass(frozen=True, eq=False)
class Deferred:
    """An element is computed where it is asked for, once in each scope."""

    compute: Callable[[Index], Scalar]
    writer: Writer

    def at(self, index: Index) -> Scalar:
        key = (self, *(each.text for each in index))
        found = self.writer.recall(key)
        if not isinstance(found, Scalar):
            found = self.writer.bind(self.compute(index))
            self.writer.remember(key, found)
        return found


Tile = Splat | PrivateArray | Deferred


def projected(index: Index, source: IndexSpace, target: IndexSpace) -> Index:
    """The index of a broadcast operand: by dim identity, 0 along axes of extent 1."""
    places = [target.position(axis.dim) for axis in source.axes]
    return tuple(
        integer_constant(0) if axis.extent == 1 or place is None else index[place]
        for axis, place in zip(source.axes, places, strict=True)
    )
