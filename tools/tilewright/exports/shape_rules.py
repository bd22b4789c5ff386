"""The rules about sizes: tile size, footprint, and how warps fill a tile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilewright.exports.model import Access, Parameter, TileExport
from tilewright.exports.naming import free_name, plain
from tilewright.exports.spelling import argument, at, number, parameter, shown
from tilewright.problem import Problem

LARGEST_TILE = 16_777_216
USUAL_TILE = 128


def is_power_of_two(value: int) -> bool:
    """True for 1, 2, 4, ...; false for 0 and negative numbers."""
    return value > 0 and value & (value - 1) == 0


def fits(tile_shape: int | None, participants: int, footprint: int) -> bool:
    """Whether whole invocations cover the tile; of a parametric export, whether they cover any tile there is."""
    return footprint > 0 and (LARGEST_TILE if tile_shape is None else tile_shape) % (participants * footprint) == 0


def fitting_footprint(export: TileExport) -> int:
    """The footprint to offer: the largest in use that fits, or the largest power of two below it that does."""
    tile_shape = export.tile_shape
    if tile_shape is None or not (is_power_of_two(tile_shape) and tile_shape <= LARGEST_TILE):
        tile_shape = None
    wanted = max((written.footprint for written in export.parameters if written.footprint > 0), default=1)
    candidate = 1 << (min(wanted, LARGEST_TILE).bit_length() - 1)
    while candidate > 1 and not fits(tile_shape, export.participants, candidate):
        candidate //= 2
    return candidate


def fitting_tile(export: TileExport, near: int) -> int:
    """The tile size to offer: the first legal one from `near` on that whole invocations cover."""
    least = export.participants * fitting_footprint(replace(export, tile_shape=None))
    return min(max(1 << max(near - 1, 0).bit_length(), least), LARGEST_TILE)


def with_footprint(export: TileExport, footprint: int) -> str:
    """A hint, one line for each parameter that has another footprint than that.

    A return slot has footprint 1, so a larger one makes it a parameter that is written.
    """
    taken = {written.name for written in export.parameters} | {f"{export.function}_out"}
    lines = []
    for written in export.parameters:
        if written.footprint == footprint:
            continue
        other = _respelled(written, footprint)
        head = "write"
        if written.is_return and footprint != 1:
            result = free_name(f"{plain(export.function, 'function')}_result", taken)
            other = replace(other, name=result, access=Access.INOUT, is_return=False)
            head = "return nothing and write the result through"
        lines.append(f"{head} {parameter(written.where or export.where, other)}")
    return "\n".join(lines)


def _respelled(written: Parameter, footprint: int) -> Parameter:
    by_value = written.by_value and footprint == 1
    return replace(written, name=plain(written.name, "x"), footprint=footprint, by_value=by_value)


def tile_shape_not_positive(export: TileExport) -> Iterator[Problem]:
    """A tile size is zero or negative. Spec: Rules the tooling enforces."""
    if export.tile_shape is not None and export.tile_shape <= 0:
        what = f"{shown(export.name)}: tile size {number(export.tile_shape)} is not positive"
        size = argument(export.where, "tile_shape", fitting_tile(export, USUAL_TILE))
        yield Problem(what, at(export.where, "tile_shape"), f"write {size}")


def tile_shape_not_power_of_two(export: TileExport) -> Iterator[Problem]:
    """A tile size is no power of two; Tile IR has no other extents. Spec: Attribute arguments."""
    size = export.tile_shape
    if size is not None and size > 0 and not is_power_of_two(size):
        what = f"{shown(export.name)}: tile size {number(size)} is not a power of two"
        offer = argument(export.where, "tile_shape", fitting_tile(export, size))
        yield Problem(what, at(export.where, "tile_shape"), f"write {offer}")


def tile_shape_too_large(export: TileExport) -> Iterator[Problem]:
    """A tile size is above 16777216 elements, the most a Tile IR tile holds. Spec: Attribute arguments."""
    size = export.tile_shape
    if size is not None and size > LARGEST_TILE:
        what = f"{shown(export.name)}: tile size {number(size)} is above the largest, {LARGEST_TILE}"
        yield Problem(
            what, at(export.where, "tile_shape"), f"write {argument(export.where, 'tile_shape', LARGEST_TILE)}"
        )


def footprint_not_positive(export: TileExport) -> Iterator[Problem]:
    """A parameter owns no element: its footprint is zero or negative. Spec: Parameters and the ABI."""
    for written in export.parameters:
        if written.footprint <= 0:
            where = written.where or export.where
            what = (
                f"{shown(export.name)}: footprint {number(written.footprint)} of {shown(written.name)} is not positive"
            )
            offer = _respelled(written, fitting_footprint(export))
            yield Problem(what, at(where, "footprint"), f"write {parameter(where, offer)}")


def footprint_mismatch(export: TileExport) -> Iterator[Problem]:
    """Two parameters of one export, the return slot included, have different footprints, so their fragments need
    different numbers of invocations. Spec: Rules the tooling enforces.
    """
    first = next((written for written in export.parameters if written.footprint > 0), None)
    if first is None:
        return
    for written in export.parameters:
        if written.footprint > 0 and written.footprint != first.footprint:
            what = (
                f"{shown(export.name)}: {shown(first.name)} has footprint {number(first.footprint)}, "
                f"{shown(written.name)} has {number(written.footprint)}"
            )
            where = at(written.where or export.where, "footprint")
            yield Problem(what, where, with_footprint(export, fitting_footprint(export)))
            return


def footprint_not_a_divisor(export: TileExport) -> Iterator[Problem]:
    """A footprint does not divide the tile size, or no tile size at all where the call supplies it.
    Spec: Parameters and the ABI.
    """
    for written in _one_per_footprint(export):
        size = export.tile_shape
        if (size is None or size > 0) and not fits(size, 1, written.footprint):
            where = at(written.where or export.where, "footprint")
            tile = f"the tile size {number(size)}" if size is not None else "any tile size, a power of two"
            what = f"{shown(export.name)}: footprint {number(written.footprint)} does not divide {tile}"
            yield Problem(what, where, with_footprint(export, fitting_footprint(export)))


def warp_not_filled(export: TileExport) -> Iterator[Problem]:
    """With `sync = "warp"`, the tile size is no multiple of 32 times the footprint, so some invocation lacks lanes.
    Spec: Rules the tooling enforces.
    """
    for written in _one_per_footprint(export):
        size = export.tile_shape
        if (size is None or size > 0) and not fits(size, export.participants, written.footprint):
            if export.participants == 1:
                return
            tile = f"a tile of {number(size)} elements" if size is not None else "no tile"
            lanes = f"{export.participants} lanes x footprint {number(written.footprint)}"
            what = f"{shown(export.name)}: {tile} {'does not fill' if size else 'fills'} whole warps of {lanes}"
            if size is not None and fits(LARGEST_TILE, export.participants, written.footprint):
                hint = f"write {argument(export.where, 'tile_shape', fitting_tile(export, size))}"
                yield Problem(what, at(export.where, "tile_shape"), hint)
            else:
                where = at(written.where or export.where, "footprint")
                yield Problem(what, where, with_footprint(export, fitting_footprint(export)))


def _one_per_footprint(export: TileExport) -> list[Parameter]:
    firsts = {written.footprint: written for written in reversed(export.parameters)}
    return [written for footprint, written in sorted(firsts.items()) if footprint > 0]
