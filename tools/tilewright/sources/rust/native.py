"""The user's own functions compiled for this machine: a library of entries that call them over whole arrays.

The entries are written by the `tile_export` of `cuda_device_oracle`, which knows neither implementations nor
descriptions; the operations of a warp run among 32 threads in lockstep.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.exports.elements import ElementType
from tilewright.exports.model import ExportSet, Sync, TileExport
from tilewright.exports.sizes import own_name, own_symbol
from tilewright.problem import Place, Problem
from tilewright.sources.rust.compile import Compiler, compiled
from tilewright.sources.rust.crates_cache import Purpose, built_crates
from tilewright.sources.rust.front_end import rust_identity
from tilewright.sources.rust.manifest import crate_root
from tilewright.sources.rust.modules import read_crate
from tilewright.sources.rust.reader import read_exports
from tilewright.sources.rust.rustc import dotted, find_rustc
from tilewright.sources.source import SourceError

LIST = "TILEWRIGHT_ORACLE"
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?(\w+)")
NATIVE_FLAGS = (
    "-Cpanic=unwind",
    "-Copt-level=1",
    "-Coverflow-checks=off",
    "-Cdebug-assertions=off",
    "-Cdebuginfo=0",
    "-Ccodegen-units=1",
    "-Cstrip=symbols",
    "-Clink-arg=-Wl,-z,defs",
)
"""No check that device code does not have; a panic unwinds, so that its words reach the report; nothing is missing."""

FOR_ORACLE = Purpose("tilewright_oracle", "cuda_device_oracle", "cuda_device/src/oracle/attribute.rs", NATIVE_FLAGS)
"""The entries in place of the implementations, for this machine."""


@dataclass(frozen=True, slots=True)
class NativeLibrary:
    """A shared object with `const char *tilewright_expected_<n>(void *const *tiles)` for export n, and who made it.

    The entry gets every parameter's whole tile in order, that of a result last, and gives "" or what went wrong.
    """

    data: bytes
    compiler: str


def native_library(
    path: Path,
    exports: Sequence[TileExport],
    *,
    root: Path,
    library: str,
    environ: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> NativeLibrary:
    """Compiles the functions of sized exports from the source at `path`, a file or a crate of the project at `root`.

    SourceError with rustc's errors, when there is no rustc, or when an export is not the source's own.
    """
    variables = os.environ if environ is None else environ
    top = Path(os.path.abspath(root))
    name = Path(os.path.relpath(path, top)).as_posix()
    found = crate_root(Path(os.path.abspath(path)), name=name, root=top)
    crate = read_crate(found.file, root=top)
    if not crate.files:
        raise SourceError(crate.problems)
    f16 = any(parameter.element is ElementType.F16 for export in exports for parameter in export.parameters)
    if foreign := list(_foreign(exports, read_exports(crate, library, nightly_f16=f16).exports, name)):
        raise SourceError(foreign)
    rustc = find_rustc(variables, folder=top)
    purpose = replace(FOR_ORACLE, f16=f16)
    crates = built_crates(rustc, environ=variables, cache=cache, purpose=purpose)
    compiler = Compiler(rustc, top, {**variables, LIST: _entries(exports)}, cache, f16)
    arguments = ("--crate-type=cdylib", *NATIVE_FLAGS, *crates.arguments)
    try:
        data = compiled(found, crate.files[0].text, library, arguments, compiler).data
    except SourceError as error:
        raise SourceError(_missing(error.problems, name)) from error
    return NativeLibrary(data, f"rustc {dotted(rustc.release)}")


def _missing(problems: Sequence[Problem], name: str) -> Iterator[Problem]:
    """The problems, in place of the linker's complaint one for each function that this machine does not have."""
    for problem in problems:
        functions = dict.fromkeys(_UNDEFINED.findall(problem.detail)) if "linking with" in problem.what else {}
        for function in functions:
            what = f"the crate calls `{function}`, which this machine does not have: the function cannot run on the CPU"
            yield Problem(what, Place(name), hint="give the expected values by a reference (a Python function)")
        if not functions:
            yield problem


def native_identity(*, root: Path, environ: Mapping[str, str] | None = None) -> str:
    """What a native library depends on besides the sources, for build signatures: as `rust_identity`, and the flags.

    The crate's own files (`scan_rust`) count beside the device text: code for the host alone is in none of it.
    """
    return "; ".join([rust_identity(root=root, environ=environ), *NATIVE_FLAGS])


def _entries(exports: Sequence[TileExport]) -> str:
    """What `cuda_device_oracle` reads: symbol, number, elements, elements of a fragment, lanes."""
    return "".join(
        f"{own_symbol(export)} {number} {export.tile_shape} {export.footprint} "
        f"{str(export.sync is Sync.WARP).lower()}\n"
        for number, export in enumerate(exports)
    )


def _foreign(exports: Sequence[TileExport], own: ExportSet, name: str) -> Iterator[Problem]:
    """The exports that the source does not have; sizes and bounds, which a build adds, may differ."""
    there = {export.symbol: _bare(export) for export in own.exports}
    for export in exports:
        if there.get(own_symbol(export)) != _bare(export):
            what = f"`{export.name}`: the source has no such export; the description is not its own"
            yield Problem(what, Place(name), hint="build the library and its description again")


def _bare(export: TileExport) -> TileExport:
    return replace(
        export, name=own_name(export), symbol=own_symbol(export), tile_shape=None, tile_shapes=(), max_ulps=None
    )
