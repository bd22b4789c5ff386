"""The rules about the sizes that a static library carries of an export without a tile size of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.exports.model import Parameter, TileExport
from tilewright.exports.shape_rules import LARGEST_TILE, fits, fitting_tile, is_power_of_two
from tilewright.exports.spelling import argument, at, in_description, number, shown
from tilewright.problem import Problem

FIELD = "tile_shapes"


def listed_size_not_positive(export: TileExport) -> Iterator[Problem]:
    """A listed size is zero or negative. Spec: Attribute arguments."""
    if wrong := [size for size in export.tile_shapes if size <= 0]:
        yield _problem(export, f"listed size {number(wrong[0])} is not positive")


def listed_size_not_power_of_two(export: TileExport) -> Iterator[Problem]:
    """A listed size is no power of two; Tile IR has no other extents. Spec: Attribute arguments."""
    if wrong := [size for size in export.tile_shapes if size > 0 and not is_power_of_two(size)]:
        yield _problem(export, f"listed size {number(wrong[0])} is not a power of two")


def listed_size_too_large(export: TileExport) -> Iterator[Problem]:
    """A listed size is above 16777216 elements, the most a Tile IR tile holds. Spec: Attribute arguments."""
    if wrong := [size for size in export.tile_shapes if size > LARGEST_TILE]:
        yield _problem(export, f"listed size {number(wrong[0])} is above the largest, {LARGEST_TILE}")


def listed_size_twice(export: TileExport) -> Iterator[Problem]:
    """A size is listed twice for one export, which has one symbol a size. Spec: The provider form."""
    if twice := [size for place, size in enumerate(export.tile_shapes) if size in export.tile_shapes[:place]]:
        yield _problem(export, f"size {number(twice[0])} is listed twice")


def listed_size_not_covered(export: TileExport) -> Iterator[Problem]:
    """A footprint does not divide a listed size. Spec: Parameters and the ABI."""
    owner = _largest(export)
    if owner is None or not fits(None, 1, owner.footprint):
        return
    if wrong := [size for size in export.tile_shapes if size > 0 and not fits(size, 1, owner.footprint)]:
        footprint = number(owner.footprint)
        yield _problem(export, f"footprint {footprint} does not divide the listed size {number(wrong[0])}")


def listed_size_without_warps(export: TileExport) -> Iterator[Problem]:
    """With `sync = "warp"`, a listed size is no multiple of 32 times the footprint, so some invocation lacks lanes.
    Spec: Rules the tooling enforces.
    """
    owner = _largest(export)
    if owner and export.participants > 1 and fits(None, export.participants, owner.footprint):
        covered = [size for size in export.tile_shapes if size > 0 and fits(size, 1, owner.footprint)]
        if wrong := [size for size in covered if not fits(size, export.participants, owner.footprint)]:
            lanes = f"{export.participants} lanes x footprint {number(owner.footprint)}"
            yield _problem(export, f"the listed size {number(wrong[0])} does not fill whole warps of {lanes}")


def size_list_beside_tile_shape(export: TileExport) -> Iterator[Problem]:
    """An export has a tile size and a list of sizes too. Spec: Attribute arguments."""
    if export.tile_shape is not None and export.tile_shapes:
        what = f"{shown(export.name)}: it has the tile size {number(export.tile_shape)} and a list of sizes"
        hint = f"leave {FIELD} out, or leave tile_shape out and list every size"
        if in_description(export.where):
            hint = f"write {argument(export.where, FIELD, ())}"
        yield Problem(what, at(export.where, FIELD), hint)


def sound_sizes(export: TileExport, sizes: Iterable[int]) -> tuple[int, ...]:
    """The legal sizes nearest to `sizes`, from each one on, ascending and each once."""
    return tuple(sorted({fitting_tile(export, min(max(size, 1), LARGEST_TILE)) for size in sizes}))


def _largest(export: TileExport) -> Parameter | None:
    return max(export.parameters, key=lambda each: each.footprint) if export.parameters else None


def _problem(export: TileExport, fault: str) -> Problem:
    hint = f"write {argument(export.where, FIELD, sound_sizes(export, export.tile_shapes))}"
    return Problem(f"{shown(export.name)}: {fault}", at(export.where, FIELD), hint)
