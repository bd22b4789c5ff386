"""The description of a tile export as plain values. Spec: Writing an export; Parameters and the ABI."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tilewright.exports.elements import ElementType
from tilewright.problem import Place

WARP_SIZE = 32


class Access(Enum):
    """What the implementation does with a parameter's elements."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"

    @property
    def writes(self) -> bool:
        return self is not Access.IN


class Sync(Enum):
    """The threads that must call the implementation together: each alone, or the 32 lanes of a warp."""

    NONE = "none"
    WARP = "warp"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the implementation, the return slot `<fn>_out` included.

    `footprint` is the number of contiguous tile elements one invocation owns.  `by_value` holds for an `in`
    scalar written as `T`; everything else is a pointer to the invocation's own elements.
    """

    name: str
    element: ElementType
    access: Access
    footprint: int = 1
    by_value: bool = False
    is_return: bool = False
    where: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class TileExport:
    """One exported function.

    `name` is the declaration a tile kernel calls, `symbol` the implementation in the device code, `function` the
    user's own function.  `tile_shape` is the tile size in elements, None when the call supplies it; `tile_shapes` are
    then the sizes that a static library carries, none for a library that has to be a provider.  `arch` empty
    means every architecture.  `max_ulps` is how far a result may be from the host's, in units of the last place, None
    where no bound is declared.  Positions (`where`) are for messages only: they take no part in equality and are never
    written to a description.
    """

    name: str
    symbol: str
    function: str
    parameters: tuple[Parameter, ...]
    tile_shape: int | None = None
    sync: Sync = Sync.NONE
    arch: tuple[str, ...] = ()
    doc: str = ""
    max_ulps: int | None = None
    tile_shapes: tuple[int, ...] = ()
    where: Place | None = field(default=None, compare=False)

    @property
    def footprint(self) -> int:
        """Elements one invocation owns; equal for all parameters of an export that passed the rules."""
        return self.parameters[0].footprint if self.parameters else 1

    @property
    def participants(self) -> int:
        """Threads that make up one invocation: 1, or the 32 lanes of a warp."""
        return WARP_SIZE if self.sync is Sync.WARP else 1

    @property
    def invocations(self) -> int | None:
        """Calls that cover one tile, None when parametric. 128 elements, warp, footprint 1: 4 calls of 32 lanes."""
        if self.tile_shape is None:
            return None
        return self.tile_shape // (self.participants * self.footprint)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The results of the declaration: the `out` and `inout` parameters in order."""
        return tuple(parameter for parameter in self.parameters if parameter.access.writes)


@dataclass(frozen=True, slots=True)
class ExportSet:
    """All exports of one library, in source order. `library` is the module name, an ASCII identifier."""

    library: str
    exports: tuple[TileExport, ...]

    def sized(self) -> ExportSet:
        """The exports a static library ships: of one tile size, or of listed ones. Spec: Building the library."""
        return ExportSet(self.library, tuple(export for export in self.exports if export not in self.unlisted()))

    def unlisted(self) -> tuple[TileExport, ...]:
        """The parametric exports of which no size is listed."""
        return tuple(export for export in self.parametric() if not export.tile_shapes)

    def parametric(self) -> tuple[TileExport, ...]:
        """The exports whose tile size the call supplies."""
        return tuple(export for export in self.exports if export.tile_shape is None)
