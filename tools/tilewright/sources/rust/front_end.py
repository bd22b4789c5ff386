"""Reads a Rust source: a `.rs` file, or a crate folder with `Cargo.toml`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.device.module import DeviceModule
from tilewright.exports.model import ExportSet
from tilewright.problem import Problem
from tilewright.sources.languages import RUST
from tilewright.sources.rust.compile import F16_NOTE, HEADER, Compiler, llvm_ir, nvvm_ir
from tilewright.sources.rust.crates_cache import crates_digest
from tilewright.sources.rust.manifest import CrateRoot, crate_root
from tilewright.sources.rust.modules import Crate, read_crate, scan
from tilewright.sources.rust.reach import lone_warp_operations, with_bounds
from tilewright.sources.rust.reader import read_exports
from tilewright.sources.rust.rustc import find_rustc
from tilewright.sources.rust.signature import UNREADABLE
from tilewright.sources.source import Source, SourceError


def read_rust_file(
    path: Path,
    *,
    name: str,
    root: Path,
    library: str,
    include_path: Sequence[Path] = (),
    toolkit_include: Sequence[Path] = (),
    nightly_f16: bool = False,
    environ: Mapping[str, str] | None = None,
    cache: Path | None = None,
) -> Source:
    """The source under its project-relative `name`. SourceError with every problem of the crate, ours before rustc's.

    Folders for headers mean nothing to Rust.  `nightly_f16` admits `f16` and compiles with RUSTC_BOOTSTRAP=1, which the
    head of the device text says.  `environ` and `cache` are the process's own by default.
    """
    top = Path(os.path.abspath(root))
    found = crate_root(Path(os.path.abspath(path)), name=name, root=top)
    crate = read_crate(found.file, root=top)
    if not crate.files:
        raise SourceError(crate.problems)
    reading = read_exports(crate, library, nightly_f16=nightly_f16)
    unreadable = any(problem.rule == UNREADABLE for problem in reading.problems)
    if reading.problems and not unreadable:
        raise SourceError(reading.problems)
    variables = os.environ if environ is None else environ
    rustc = find_rustc(variables, folder=top)
    compiler = Compiler(rustc, top, variables, cache, nightly_f16)
    made = llvm_ir(found, crate.files[0].text, library, compiler)
    if reading.problems:
        raise SourceError(reading.problems)
    text = _device_text(made.data.decode("utf-8"), reading.exports, crate, found, compiler)
    heading = [HEADER.format(name=name), *([F16_NOTE] if nightly_f16 else [])]
    exports = with_bounds(reading.exports, text)
    device_text = "\n".join([*heading, text])
    return Source(exports, device_text, RUST.device_suffix, _dependencies(path, found, crate), made.warnings)


def _device_text(ir: str, exports: ExportSet, crate: Crate, found: CrateRoot, compiler: Compiler) -> str:
    try:
        text = nvvm_ir(ir, exports, found.name, compiler.rustc)
        if problems := list(lone_warp_operations(exports, text)):
            raise SourceError(problems)
        return text
    except SourceError as error:
        raise SourceError(_with_lines(problem, crate) for problem in error.problems) from error


def _with_lines(problem: Problem, crate: Crate) -> Problem:
    for file in crate.files:
        problem = file.shown(problem)
    return problem


def _dependencies(path: Path, found: CrateRoot, crate: Crate) -> tuple[Path, ...]:
    """The user's files that were read: the source as it was named, then the others."""
    given = path if found.manifest is None else found.manifest
    others = [one for one in crate.dependencies if one != Path(os.path.abspath(given))]
    return (given, *others)


def scan_rust(path: Path, *, root: Path) -> tuple[Path, ...]:
    """Every file that reading the source at `path` reads, without compiling: for a build system's scanner.

    Never raises: what cannot be read names nothing.
    """
    top = Path(os.path.abspath(root))
    try:
        found = crate_root(Path(os.path.abspath(path)), name=path.name, root=top)
    except SourceError:
        return ()
    files = scan(found.file, root=top)
    return (found.manifest, *files) if found.manifest is not None else files


def rust_identity(*, root: Path, environ: Mapping[str, str] | None = None) -> str:
    """What the device text depends on besides the sources, for build signatures: the compiler and our crates.

    No path and no date.  SourceError as `find_rustc`.
    """
    rustc = find_rustc(os.environ if environ is None else environ, folder=Path(os.path.abspath(root)))
    return "; ".join([*rustc.identity.splitlines(), f"cuda_device {crates_digest()}"])


def translation_unit(
    text: str, *, origin: str, root: Path, include_path: Sequence[Path] = (), toolkit_include: Sequence[Path] = ()
) -> DeviceModule:
    """What the device compiler gets from the text of `<library>.ll`: NVVM IR is whole, no folder matters to it."""
    return DeviceModule("nvvm", text, origin)
