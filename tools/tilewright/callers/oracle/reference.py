"""Expected values from a Python function of the user's, on NumPy arrays of whole tiles.

A file of references defines one function an export, named as the export's declaration: `def relu(x): return
np.maximum(x, 0)`.  It gets copies of the tiles of every input and in-out parameter in their order, and returns the
output tiles in theirs, a single one alone or in a tuple.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.callers.error import CallerError
from tilewright.callers.inputs import Tile, dtype_of
from tilewright.exports.model import TileExport
from tilewright.exports.sizes import own_name
from tilewright.problem import Place, Problem

Reference = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ReferenceOracle:
    """The references of a library by export name; `file` for messages and for the report."""

    references: Mapping[str, Reference]
    file: str = ""

    @property
    def name(self) -> str:
        """Said in the report."""
        return f"the reference in {Path(self.file).name}" if self.file else "a Python reference"

    def expected(self, export: TileExport, tiles: Mapping[str, Tile]) -> dict[str, Tile]:
        """Calls the reference and checks what it returns, which must have the type and the size of the tile."""
        reference = self.references[own_name(export)]
        inputs = [tiles[parameter.name].copy() for parameter in export.parameters if parameter.name in tiles]
        try:
            with np.errstate(all="ignore"):
                given = reference(*inputs)
        except Exception as error:
            what = f"`{export.name}`: the reference raised {type(error).__name__}: {error}"
            raise CallerError([Problem(what, self._place(), detail=_trace(error))]) from None
        outputs = given if isinstance(given, tuple) else (given,)
        if len(outputs) != len(export.outputs):
            names = ", ".join(f"`{parameter.name}`" for parameter in export.outputs)
            what = f"`{export.name}`: the reference returned {len(outputs)} tiles, and the export has {names}"
            raise CallerError([Problem(what, self._place(), hint="return one array for each, in a tuple")])
        found: dict[str, Tile] = {}
        problems = []
        for parameter, output in zip(export.outputs, outputs, strict=True):
            dtype = dtype_of(parameter.element)
            if not isinstance(output, np.ndarray) or output.dtype != dtype or output.shape != (export.tile_shape,):
                shown = (
                    f"{output.dtype}{list(output.shape)}" if isinstance(output, np.ndarray) else type(output).__name__
                )
                what = (
                    f"`{export.name}`: the reference returned {shown} for `{parameter.name}`, "
                    f"which is {dtype.name}[{export.tile_shape}]"
                )
                problems.append(Problem(what, self._place(), hint=f"return it with .astype(numpy.{dtype.name})"))
            else:
                found[parameter.name] = np.ascontiguousarray(output)
        if problems:
            raise CallerError(problems)
        return found

    def _place(self) -> Place | None:
        return Place(self.file) if self.file else None


def load_references(path: Path) -> dict[str, Reference]:
    """Every public function of a Python file by name. `CallerError` when it cannot be run."""
    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        what = f"the references cannot be read: {type(error).__name__}: {error}"
        raise CallerError([Problem(what, Place(str(path)), detail=_trace(error))]) from None
    return {name: value for name, value in names.items() if callable(value) and not name.startswith("_")}


def _trace(error: Exception) -> str:
    """The user's part of the traceback: our own frame is the first."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return "".join(traceback.format_list(frames)).rstrip()
