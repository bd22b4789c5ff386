"""Dimensions by identity and the index spaces made of them.

A tile is a value over *named* dimensions: broadcasting, contraction and reduction are decided by which `Dim` objects
two spaces share, never by position or by spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

MAX_EXTENT = 2**64 - 1


class Dim:
    """An opaque identity with a display name; two dims called `m` are different dims. Made by `Module.dim`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<dim {self.name}>"


Extent: TypeAlias = int | Dim
"""A constant of 0 to 2**64-1, or the dim that stands for a size known only at run time."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One dimension of a space and how many elements it has there."""

    dim: Dim
    extent: Extent

    def __str__(self) -> str:
        return f"{self.dim.name}={self.extent.name if isinstance(self.extent, Dim) else self.extent}"


@dataclass(frozen=True, slots=True)
class IndexSpace:
    """An ordered list of axes with distinct dims; rank 0 is the space of a single element.

    Row-major: the last axis runs fastest. `str` gives `[m=16, n=8]`.
    """

    axes: tuple[Axis, ...] = ()

    @classmethod
    def of(cls, *axes: tuple[Dim, Extent]) -> IndexSpace:
        """The space with these (dim, extent) pairs in this order."""
        return cls(tuple(Axis(dim, extent) for dim, extent in axes))

    @property
    def rank(self) -> int:
        return len(self.axes)

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(axis.dim for axis in self.axes)

    @property
    def extents(self) -> tuple[Extent, ...]:
        return tuple(axis.extent for axis in self.axes)

    @property
    def is_static(self) -> bool:
        return not any(isinstance(extent, Dim) for extent in self.extents)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of a space that `is_static`."""
        shape = tuple(extent for extent in self.extents if isinstance(extent, int))
        assert len(shape) == self.rank, f"{self} has a dynamic extent"  # noqa: S101
        return shape

    def static_volume(self) -> int | None:
        """How many elements, or None when an extent is dynamic."""
        return prod(self.shape) if self.is_static else None

    def position(self, dim: Dim) -> int | None:
        """Where that dim stands, or None; the comparison is by identity."""
        return next((place for place, axis in enumerate(self.axes) if axis.dim is dim), None)

    def extent_of(self, dim: Dim) -> Extent | None:
        place = self.position(dim)
        return None if place is None else self.axes[place].extent

    def without(self, dims: Iterable[Dim]) -> IndexSpace:
        """The space of the axes whose dim is not among `dims`, in order."""
        dropped = set(dims)
        return IndexSpace(tuple(axis for axis in self.axes if axis.dim not in dropped))

    def strides(self) -> tuple[int, ...]:
        """Row-major element strides of a static space: `[m=16, n=8]` gives (8, 1)."""
        shape = self.shape
        return tuple(prod(shape[place + 1 :]) for place in range(self.rank))

    def mentioned(self) -> Iterator[Dim]:
        """Every dim the space names, dynamic extents included."""
        for axis in self.axes:
            yield axis.dim
            if isinstance(axis.extent, Dim):
                yield axis.extent

    def __str__(self) -> str:
        return f"[{', '.join(str(axis) for axis in self.axes)}]"
