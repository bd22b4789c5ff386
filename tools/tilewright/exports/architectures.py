"""Whether the architectures that an export lists can use a library at all. Spec: Attribute arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import get_close_matches

from tilewright.exports.model import ExportSet, TileExport
from tilewright.exports.spelling import argument, at, shown
from tilewright.problem import Problem


def unserved(exports: ExportSet, arch: str, *, known: Collection[str] = ()) -> list[Problem]:
    """The exports that a library never serves, whose device code is made for `arch` (`sm_120`, `compute_75`).

    Device code is used on its own architecture and on newer ones, so one of those must be in an export's list, and
    each of the list in `known`, the plain names that the toolkit has (empty: not asked).
    """
    return [problem for export in exports.exports for problem in _of_export(export, arch, known)]


def _of_export(export: TileExport, arch: str, known: Collection[str]) -> Iterator[Problem]:
    where = at(export.where, "arch")
    unknown = [name for name in export.arch if known and f"sm_{_number(name)}" not in known]
    for name in unknown:
        what = f"{shown(export.name)}: the toolkit has no architecture {shown(name)}"
        near = get_close_matches(name, known, n=1)
        hint = (f"did you mean `{near[0]}`?\n" if near else "") + f"choose from: {', '.join(known)}"
        yield Problem(what, where, hint, rule="unknown-architecture")
    if export.arch and not unknown and all(_number(name) < _number(arch) for name in export.arch):
        listed = ", ".join(export.arch)
        what = f"{shown(export.name)} is for {listed}, which cannot use device code made for {arch}"
        wider = argument(export.where, "arch", [*export.arch, f"sm_{_number(arch)}"])
        hint = f"write {wider}, leave arch out, or make the device code for sm_{max(map(_number, export.arch))}"
        yield Problem(what, where, hint, rule="architecture-never-served")


def _number(name: str) -> int:
    return int(name.rpartition("_")[2].rstrip("af"))
