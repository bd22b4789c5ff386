"""Expected values from a Python function of the user's, on NumPy arrays of whole tiles.

A file of references defines one function an export, named as the export's declaration: `def relu(x): return
np.maximum(x, 0)`.  It gets copies of the tiles of every input and in-out parameter in their order, and returns the
output tiles in theirs, a single one alone or in a tuple.
"""

from __future__ import annotations

import functools
import os
import runpy
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.callers.error import CallerError
from tilewright.callers.inputs import Tile, dtype_of
from tilewright.exports.model import TileExport
from tilewright.exports.sizes import own_name
from tilewright.problem import Place, Problem

Reference = Callable[..., Any]
_NOT_THEIRS = (str(Path(__file__).parents[2]) + os.sep, "<frozen ")
"""What the files of the frames above those of a reference begin with."""

_importable = threading.Lock()


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


def load_references(path: Path, root: Path) -> dict[str, Reference]:
    """Every public function of a Python file by name. `CallerError` when it cannot be run.

    The file, and a function when it is called, may import what lies beside it, and what lies in `root`, the top folder
    of the project; two files with modules of one name beside them get each its own.
    """
    folders = [os.path.dirname(os.path.abspath(path)), os.path.abspath(root)]
    try:
        with _imports_from(folders):
            names = runpy.run_path(str(path))
    except Exception as error:
        what = f"the references cannot be read: {type(error).__name__}: {error}"
        raise CallerError([Problem(what, Place(str(path)), detail=_trace(error))]) from None
    found = {name: value for name, value in names.items() if callable(value) and not name.startswith("_")}
    return {name: _importing(function, folders) for name, function in found.items()}


def _importing(function: Reference, folders: list[str]) -> Reference:
    @functools.wraps(function)
    def reference(*tiles: Tile) -> Any:
        with _imports_from(folders):
            return function(*tiles)

    return reference


@contextmanager
def _imports_from(folders: list[str]) -> Iterator[None]:
    """As Python runs a program, without leaving a trace: neither in a folder, nor among the modules of this one."""
    with _importable:
        before, writes = set(sys.modules), sys.dont_write_bytecode
        sys.path[:0] = folders
        sys.dont_write_bytecode = True
        try:
            yield
        finally:
            sys.dont_write_bytecode = writes
            for folder in folders:
                with suppress(ValueError):
                    sys.path.remove(folder)
            for name in sys.modules.keys() - before:
                if not _is_installed(getattr(sys.modules[name], "__file__", None)):
                    del sys.modules[name]


def _is_installed(file: str | None) -> bool:
    """Whether a module is built in, or lies where packages and the standard library do."""
    places = [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    return file is None or file.startswith((*(place + os.sep for place in places), str(Path(__file__).parents[3])))


def _trace(error: Exception) -> str:
    """The user's part of the traceback."""
    frames = dropwhile(lambda frame: frame.filename.startswith(_NOT_THEIRS), traceback.extract_tb(error.__traceback__))
    return "".join(traceback.format_list(frames)).rstrip()
