"""What an oracle is: the expected tiles of an export for given inputs, and what to call it in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tilewright.callers.inputs import Tile
from tilewright.exports.model import TileExport


class Oracle(Protocol):
    """Gives expected values independently of the path that is checked."""

    @property
    def name(self) -> str:
        """Said in the report: `the function compiled for this host (g++)`."""

    def expected(self, export: TileExport, tiles: Mapping[str, Tile]) -> dict[str, Tile]:
        """The tiles of every output by name, from those of every parameter that is read.

        `CallerError` naming the export when the oracle fails.
        """
