"""Broadcasting and contraction by dim identity: the shape rules that verifier, builder and capture share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.tileir.dims import Axis, Dim, IndexSpace
from tilewright.tileir.types import Type, is_scalar, space_of


def broadcasts(source: IndexSpace, target: IndexSpace) -> bool:
    """Every dim of the source is in the target, with the same extent or with extent 1 (V13)."""
    return all(
        target.position(axis.dim) is not None and axis.extent in (1, target.extent_of(axis.dim)) for axis in source.axes
    )


def type_broadcasts(source: Type, target: Type) -> bool:
    """The same for types: a scalar goes to a scalar or a tile, a tile never to a scalar."""
    if is_scalar(source):
        return is_scalar(target) or space_of(target) is not None
    source_space, target_space = space_of(source), space_of(target)
    return source_space is not None and target_space is not None and broadcasts(source_space, target_space)


def union(spaces: Sequence[IndexSpace]) -> IndexSpace | None:
    """The space all of them broadcast to: the widest first, then the dims it lacks; None if extents disagree.

    `[m=4, n=1]` and `[n=8]` give `[m=4, n=8]`.
    """
    extents: dict[Dim, Axis] = {}
    for space in sorted(spaces, key=lambda space: -space.rank):
        for axis in space.axes:
            known = extents.get(axis.dim)
            if known is None or known.extent == 1:
                extents[axis.dim] = axis
            elif axis.extent not in (1, known.extent):
                return None
    return IndexSpace(tuple(extents.values()))


@dataclass(frozen=True, slots=True)
class Contraction:
    """How the dims of an MMA play together: batch (in a, b, c), rows (a, c), columns (b, c), contracted (a, b)."""

    batch: tuple[Dim, ...]
    rows: tuple[Dim, ...]
    columns: tuple[Dim, ...]
    contracted: tuple[Dim, ...]


def contraction(a: IndexSpace, b: IndexSpace, c: IndexSpace) -> Contraction | None:
    """The roles of all dims, or None when they form no contraction (V17): a dim in one operand only, extents that
    differ, nothing contracted. Rows and columns are in the order of c, contracted dims in the order of a."""
    for space, *others in ((a, b, c), (b, a, c), (c, a, b)):
        for axis in space.axes:
            found = [other.extent_of(axis.dim) for other in others if other.position(axis.dim) is not None]
            if not found or any(extent != axis.extent for extent in found):
                return None
    in_a, in_b, in_c = set(a.dims), set(b.dims), set(c.dims)
    contracted = tuple(dim for dim in a.dims if dim in in_b and dim not in in_c)
    if not contracted:
        return None
    return Contraction(
        batch=tuple(dim for dim in c.dims if dim in in_a and dim in in_b),
        rows=tuple(dim for dim in c.dims if dim in in_a and dim not in in_b),
        columns=tuple(dim for dim in c.dims if dim in in_b and dim not in in_a),
        contracted=contracted,
    )
