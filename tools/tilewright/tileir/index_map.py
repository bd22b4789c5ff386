"""Index expressions and the maps between index spaces that describe memory layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.tileir.dims import IndexSpace

ENUMERATION_LIMIT = 2**20
"""How many points `analyze_finite` looks at, at most."""


class IndexOperator(Enum):
    """Binary operators of index expressions; member values are their spelling."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    FLOORDIV = "//"
    MOD = "%"
    XOR = "^"
    AND = "&"
    SHL = "<<"
    SHR = ">>"


@dataclass(frozen=True, slots=True)
class IndexConstant:
    """An integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Coordinate:
    """The coordinate of the domain at that position; printed `c0`, `c1`, ..."""

    position: int

    def __str__(self) -> str:
        return f"c{self.position}"


@dataclass(frozen=True, slots=True)
class IndexBinary:
    """`left operator right`, printed in parentheses."""

    operator: IndexOperator
    left: IndexExpr
    right: IndexExpr

    def __str__(self) -> str:
        return f"({self.left} {self.operator.value} {self.right})"


IndexExpr: TypeAlias = IndexConstant | Coordinate | IndexBinary
"""An immutable expression over the coordinates of a domain."""


def evaluate(expression: IndexExpr, coordinates: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The value at every point; `coordinates[i]` holds coordinate i of each point. Division rounds down."""
    if isinstance(expression, IndexConstant):
        return np.array(expression.value, np.int64)
    if isinstance(expression, Coordinate):
        return coordinates[expression.position]
    left, right = evaluate(expression.left, coordinates), evaluate(expression.right, coordinates)
    match expression.operator:
        case IndexOperator.ADD:
            return np.asarray(left + right)
        case IndexOperator.SUB:
            return np.asarray(left - right)
        case IndexOperator.MUL:
            return np.asarray(left * right)
        case IndexOperator.FLOORDIV:
            return np.asarray(left // right)
        case IndexOperator.MOD:
            return np.asarray(left % right)
        case IndexOperator.XOR:
            return np.asarray(left ^ right)
        case IndexOperator.AND:
            return np.asarray(left & right)
        case IndexOperator.SHL:
            return np.asarray(left << right)
        case IndexOperator.SHR:
            return np.asarray(left >> right)


def leaves_of(expression: IndexExpr) -> Iterator[IndexConstant | Coordinate]:
    """The constants and coordinates of an expression, left to right."""
    if isinstance(expression, IndexBinary):
        yield from leaves_of(expression.left)
        yield from leaves_of(expression.right)
    else:
        yield expression


@dataclass(frozen=True, slots=True)
class MapFacts:
    """What enumerating a finite map shows. `total`: every point has a value (no division by zero, no bad shift)."""

    total: bool
    in_bounds: bool
    injective: bool
    surjective: bool


@dataclass(frozen=True, slots=True)
class IndexMap:
    """One expression a codomain axis, over the coordinates of the domain. `logical -> storage` for a layout."""

    domain: IndexSpace
    codomain: IndexSpace
    expressions: tuple[IndexExpr, ...]

    def __str__(self) -> str:
        return f"{self.domain} -> {self.codomain} : ({', '.join(str(each) for each in self.expressions)})"

    def is_well_formed(self) -> bool:
        """One expression a codomain axis, each over coordinates of the domain and 64-bit constants only."""
        leaves = [leaf for each in self.expressions for leaf in leaves_of(each)]
        return len(self.expressions) == self.codomain.rank and all(
            0 <= leaf.position < self.domain.rank if isinstance(leaf, Coordinate) else -(2**63) <= leaf.value < 2**63
            for leaf in leaves
        )

    def analyze_finite(self, limit: int = ENUMERATION_LIMIT) -> MapFacts | None:
        """Facts by enumeration; None when the domain is dynamic or has more than `limit` points."""
        volume, size = self.domain.static_volume(), self.codomain.static_volume()
        if volume is None or size is None or volume > limit:
            return None
        points = np.indices(self.domain.shape, dtype=np.int64).reshape(self.domain.rank, volume)
        coordinates = [points[place] for place in range(self.domain.rank)]
        if not all(_is_total(each, coordinates) for each in self.expressions):
            return MapFacts(total=False, in_bounds=False, injective=False, surjective=False)
        images = np.zeros((self.codomain.rank, volume), np.int64)
        for place, expression in enumerate(self.expressions):
            images[place] = evaluate(expression, coordinates)
        extents = np.array(self.codomain.shape, np.int64).reshape(self.codomain.rank, 1)
        inside = ((images >= 0) & (images < extents)).all(axis=0)
        distinct = len(np.unique(images, axis=1).T) if self.codomain.rank else min(volume, 1)
        hit = len(np.unique(images[:, inside], axis=1).T) if self.codomain.rank else min(volume, 1)
        return MapFacts(total=True, in_bounds=bool(inside.all()), injective=distinct == volume, surjective=hit == size)


def _is_total(expression: IndexExpr, coordinates: Sequence[NDArray[np.int64]]) -> bool:
    if not isinstance(expression, IndexBinary):
        return True
    if not (_is_total(expression.left, coordinates) and _is_total(expression.right, coordinates)):
        return False
    right = evaluate(expression.right, coordinates)
    if expression.operator in (IndexOperator.FLOORDIV, IndexOperator.MOD):
        return bool((right != 0).all())
    if expression.operator in (IndexOperator.SHL, IndexOperator.SHR):
        return bool(((right >= 0) & (right < 64)).all())
    return True


def row_major(domain: IndexSpace, codomain: IndexSpace) -> IndexMap:
    """The map of a static space onto a rank-one codomain, last axis fastest: `[m=4, n=8]` gives ((c0 * 8) + c1)."""
    flat: IndexExpr | None = None
    for place, stride in enumerate(domain.strides()):
        term: IndexExpr = Coordinate(place)
        if stride != 1:
            term = IndexBinary(IndexOperator.MUL, term, IndexConstant(stride))
        flat = term if flat is None else IndexBinary(IndexOperator.ADD, flat, term)
    return IndexMap(domain, codomain, (flat or IndexConstant(0),))
