"""The sizes of parametric exports: listed for a whole build, and each export of one size as an export of its own.

A list in the source is the export's own and wins; the list of a build is for every parametric export without one.
Spec: The provider form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.naming import sized_name
from tilewright.exports.rules import ExportError, check
from tilewright.exports.shape_rules import LARGEST_TILE, is_power_of_two
from tilewright.exports.size_list_rules import sound_sizes
from tilewright.exports.spelling import argument, shown
from tilewright.problem import Problem

_LONGEST_NUMBER = 12


def parse_sizes(text: str, *, option: str) -> tuple[int, ...]:
    """The sizes of a build's list, `64,128`, ascending and each once; empty text lists none.

    `option` is how the list was given, `--tile-shapes `, for the hint.  ExportError for what is no tile size.
    """
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    wrong = [word for word in words if not _is_size(word)]
    if wrong:
        hint = f"a tile size is a power of two up to {LARGEST_TILE}, and commas stand between them: {option}64,128"
        raise ExportError([Problem(f"{shown(word)} is no tile size", hint=hint) for word in dict.fromkeys(wrong)])
    return tuple(sorted(set(map(int, words))))


def with_sizes(exports: ExportSet, sizes: Sequence[int]) -> ExportSet:
    """The set in which every parametric export without a list of its own has that of the build.

    Raises ExportError when such an export cannot have one of the sizes.
    """
    listed = tuple(
        replace(export, tile_shapes=tuple(sizes)) if sizes and export in exports.unlisted() else export
        for export in exports.exports
    )
    given = ExportSet(exports.library, listed)
    before = {problem.what for problem in check(exports)}
    if problems := [problem for problem in check(given) if problem.what not in before]:
        raise ExportError(replace(problem, hint=_own_list(problem, given)) for problem in problems)
    return given


def without_sizes(exports: ExportSet) -> ExportSet:
    """The set without lists: equal for builds of one source that list different sizes."""
    return ExportSet(exports.library, tuple(replace(export, tile_shapes=()) for export in exports.exports))


def instances(export: TileExport) -> tuple[TileExport, ...]:
    """What a library carries of an export: itself with its tile size, or one export for each listed size.

    An instance keeps its size as its list, by which `own_symbol` and `own_name` know it.
    """
    if export.tile_shape is not None:
        return (export,)
    return tuple(
        replace(
            export,
            name=sized_name(export.name, size),
            symbol=sized_name(export.symbol, size),
            tile_shape=size,
            tile_shapes=(size,),
        )
        for size in export.tile_shapes
    )


def own_symbol(export: TileExport) -> str:
    """The symbol of the body: of an instance `relu_any_impl__N128`, that is `relu_any_impl`."""
    return export.symbol.removesuffix(_suffix(export))


def own_name(export: TileExport) -> str:
    """The declaration that a tile kernel calls: of an instance `relu_any__N128`, that is `relu_any`."""
    return export.name.removesuffix(_suffix(export))


def linked(exports: ExportSet) -> ExportSet:
    """What is linked into tile kernels: each export or its instances, the body itself where no size is listed."""
    return ExportSet(
        exports.library, tuple(each for export in exports.exports for each in instances(export) or (export,))
    )


def _suffix(export: TileExport) -> str:
    return sized_name("", export.tile_shape) if export.tile_shape is not None and export.tile_shapes else ""


def _is_size(word: str) -> bool:
    if not re.fullmatch("[0-9]+", word) or len(word) > _LONGEST_NUMBER:
        return False
    return is_power_of_two(int(word)) and int(word) <= LARGEST_TILE


def _own_list(problem: Problem, exports: ExportSet) -> str:
    """The build's list cannot be repaired at the export; a list of its own can be given there."""
    for export in exports.exports:
        if export.tile_shapes and problem.what.startswith(f"{shown(export.name)}: "):
            own = argument(export.where, "tile_shapes", sound_sizes(export, export.tile_shapes))
            return f"leave that size out of the build's list, or give the export its own: {own}"
    return problem.hint
