"""How an export's tile is divided among invocations: shape, mem_layout and fragmap of every fragment.

N tile elements, F elements an invocation owns, P threads an invocation has (1, or the 32 lanes of a warp):
the fragmap is `(N/(P*F), P, F):(P*F, F, 1)` over (invocations, participants, footprint), with stride 0 for one
participant and for a footprint of 1. 128 elements, warp, F = 1: `(4, 32, 1):(32, 1, 0)`. Spec: Reading the dump.
"""

from __future__ import annotations

from tilewright.bytecode.attributes import MemorySpace
from tilewright.bytecode.expressions import Expression, FloorDiv, Int, Layout, SymbolicTuple, Var
from tilewright.bytecode.plain_types import PlainType
from tilewright.bytecode.types import Fragment, Tile
from tilewright.exports.elements import ElementType
from tilewright.exports.model import TileExport
from tilewright.exports.naming import EXTENT

_ELEMENTS = {element: PlainType[element.tile.upper()] for element in ElementType}


def numbers(*values: int) -> SymbolicTuple:
    """A tuple of numbers."""
    return SymbolicTuple(tuple(map(Int, values)))


def extent(export: TileExport) -> Expression:
    """The tile size: a number, or `N` when the call supplies it."""
    return Var(EXTENT) if export.tile_shape is None else Int(export.tile_shape)


def tile(export: TileExport, element: ElementType) -> Tile:
    """The type of an argument of the declaration. Unsigned elements become signless ones, same bits."""
    return Tile(_ELEMENTS[element], SymbolicTuple((extent(export),)))


def fragmap(export: TileExport) -> Layout:
    """(invocations, participants, footprint) onto the tile."""
    participants, footprint = export.participants, export.footprint
    stride = participants * footprint
    invocations: Expression
    if export.invocations is not None:
        assert export.invocations * stride == export.tile_shape, export  # noqa: S101
        invocations = Int(export.invocations)
    else:
        invocations = Var(EXTENT) if stride == 1 else FloorDiv(Var(EXTENT), Int(stride))
    return Layout(
        SymbolicTuple((invocations, Int(participants), Int(footprint))),
        numbers(stride, footprint if participants > 1 else 0, 1 if footprint > 1 else 0),
    )


def fragment(export: TileExport, element: ElementType, by_value: bool) -> Fragment:
    """The type of an argument of the implementation: a scalar by value, else a pointer to the footprint."""
    footprint = export.footprint
    mem_layout = Layout(numbers(), numbers()) if by_value else Layout(numbers(footprint), numbers(1))
    return Fragment(numbers(footprint), _ELEMENTS[element], MemorySpace.LOCAL, mem_layout, fragmap(export))
