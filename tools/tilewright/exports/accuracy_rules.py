"""The rules about declared error bounds."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.exports.model import TileExport
from tilewright.exports.spelling import argument, at, number, shown
from tilewright.problem import Problem


def max_ulps_negative(export: TileExport) -> Iterator[Problem]:
    """A declared error bound is negative. Spec: Attribute arguments."""
    if export.max_ulps is not None and export.max_ulps < 0:
        what = f"{shown(export.name)}: error bound {number(export.max_ulps)} is negative"
        hint = f"write {argument(export.where, 'max_ulps', -export.max_ulps)}"
        yield Problem(what, at(export.where, "max_ulps"), hint)
