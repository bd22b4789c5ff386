"""A crate to LLVM IR by stock rustc, and that to NVVM IR for every architecture."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.device.dialect.convert import to_typed_pointers
from tilewright.device.module import DeviceError
from tilewright.device.retarget.driver import retarget, retarget_unoptimised
from tilewright.device.retarget.flags import RUSTC_FLAGS
from tilewright.device.retarget.optimise import llvm_version
from tilewright.exports.abi import native_parameters
from tilewright.exports.model import ExportSet
from tilewright.problem import Place, Problem
from tilewright.sources.rust.crates_cache import built_crates
from tilewright.sources.rust.manifest import CrateRoot
from tilewright.sources.rust.rustc import Rustc, compile_rust, dotted
from tilewright.sources.source import SourceError

HEADER = "; Written by tilewright from {name}; do not edit."
F16_NOTE = "; Compiled with RUSTC_BOOTSTRAP=1, as nightly-f16 asks for: f16 is not stable in Rust."
_F16_FEATURE = re.compile(r"#!\[feature\([^)]*\bf16\b")
_NO_PATH = ("-", "@")  # what rustc would take for an option or a file of options
_TAKEN_NAMES = frozenset({"cuda_device", "cuda_device_macros", "core", "std", "alloc", "proc_macro", "test"})


@dataclass(frozen=True, slots=True)
class Compiler:
    """How to call rustc: itself, the project's folder (all paths are relative to it), the environment, the cache."""

    rustc: Rustc
    folder: Path
    environ: Mapping[str, str]
    cache: Path | None = None
    nightly_f16: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """The one file that rustc made, and its warnings in its own words, "" when there are none."""

    data: bytes
    warnings: str


def llvm_ir(crate: CrateRoot, root_text: str, library: str, compiler: Compiler) -> Compiled:
    """The host's LLVM IR of a crate, as UTF-8. SourceError with rustc's errors, positions in the user's own files."""
    crates = built_crates(compiler.rustc, environ=compiler.environ, cache=compiler.cache)
    return compiled(crate, root_text, library, ("--crate-type=lib", *RUSTC_FLAGS, *crates.arguments), compiler)


def compiled(crate: CrateRoot, root_text: str, library: str, arguments: Sequence[str], compiler: Compiler) -> Compiled:
    """What rustc makes of a crate with further arguments. SourceError as `llvm_ir`."""
    source = f"./{crate.name}" if crate.name.startswith(_NO_PATH) else crate.name
    try:
        with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as scratch:
            output = Path(scratch, "made")
            warnings = compile_rust(
                compiler.rustc,
                (*_arguments(crate, root_text, library, compiler), *arguments, source, "-o", str(output)),
                folder=compiler.folder,
                environ=compiler.environ,
                bootstrap=compiler.nightly_f16,
            )
            return Compiled(output.read_bytes(), warnings)
    except OSError as failure:
        what = f"cannot write the temporary folder `{tempfile.gettempdir()}`: {failure.strerror}"
        hint = "free some space there, or set TMPDIR to a folder with space"
        raise SourceError([Problem(what, hint=hint)]) from failure


def _arguments(crate: CrateRoot, root_text: str, library: str, compiler: Compiler) -> Iterator[str]:
    yield f"--edition={crate.edition}"
    yield f"--crate-name={library}_library" if library in _TAKEN_NAMES else f"--crate-name={library}"
    yield from (f'--cfg=feature="{feature}"' for feature in crate.features)
    if compiler.nightly_f16 and not _F16_FEATURE.search(root_text):
        yield "-Zcrate-attr=feature(f16)"


def nvvm_ir(ir: str, exports: ExportSet, name: str, rustc: Rustc) -> str:
    """NVVM IR from rustc's IR, in the dialect with typed pointers, which libNVVM takes for every architecture.

    Where that dialect cannot say something, or rustc's LLVM is newer than llvmlite's, the text has opaque pointers and
    says in its head why it is for compute_100 and up only.  SourceError for what cannot be on a GPU.
    """
    symbols = [export.symbol for export in exports.exports]
    quoted = name.replace("\\", "\\5C").replace('"', "\\22")
    try:
        if rustc.llvm and rustc.llvm[0] > llvm_version()[0]:
            reason = f"rustc has LLVM {dotted(rustc.llvm)}, llvmlite only {dotted(llvm_version())}"
            return _only_new([reason], retarget_unoptimised(ir, symbols, name=quoted))
        text = retarget(ir, symbols, name=quoted)
    except DeviceError as error:
        raise SourceError(_placed(error.problems, exports, name)) from error
    try:
        return to_typed_pointers(text, pointees=_pointees(exports))
    except DeviceError as error:
        return _only_new([problem.what for problem in error.problems], text)


def _only_new(reasons: list[str], text: str) -> str:
    return "".join(f"; For compute_100 and up only: {reason}.\n" for reason in reasons) + text


def _pointees(exports: ExportSet) -> dict[str, list[str | None]]:
    return {
        export.symbol: [None if native.by_value else native.element.llvm for native in native_parameters(export)]
        for export in exports.exports
    }


def _placed(problems: tuple[Problem, ...], exports: ExportSet, name: str) -> Iterator[Problem]:
    """Problems of the IR at the export that they name, by the name the user gave it."""
    for problem in problems:
        export = next((one for one in exports.exports if f"the export `{one.symbol}`" in problem.what), None)
        if export is None:
            yield replace(problem, where=problem.where or Place(name))
        else:
            what = problem.what.replace(f"the export `{export.symbol}`", f"the export `{export.function}`")
            yield replace(problem, what=what, where=problem.where or export.where)
