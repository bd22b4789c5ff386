"""`tilewright verify`: a library's exports run through the native ABI. Spec: Verifying the ABI on CUDA 13.4.

Running a bundle on a GPU needs Python, cuda-bindings and NumPy, nothing else; so the rest is imported when needed.
"""

from __future__ import annotations

import os
import re
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.files import read_file
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.callers.bundle import Bundle
    from tilewright.callers.oracle.expectation import Oracle
    from tilewright.callers.report import Report
    from tilewright.device.module import DeviceModule
    from tilewright.device.workers import Workers
    from tilewright.exports.model import ExportSet
    from tilewright.toolchain.toolkit import Toolkit

DESCRIPTION = ".tileexports.json"
VERB = Verb(
    "verify",
    "Runs every export of a library through its native ABI and compares each element with what is expected.\n"
    "Takes a verification bundle LIB.verify.zip, or a description LIB.tileexports.json, beside which it reads\n"
    "LIB.ltoir and the source of the device code, LIB.device.cu or LIB.ll, with the user's headers that it includes.\n"
    "SCons writes that file; after `tilewright build`, name the user's own source: --source relu.cu.\n"
    "For Rust it reads the user's crate, too, which gives the expected values: the one that LIB.ll was made from.\n"
    "Without a GPU for the code it prints `skipping: <reason>` and exits 0.",
    "tilewright verify build/sm_90/relu/relu.tileexports.json --source relu.cu --emulate",
    (
        Option("--emulate", "run on the CPU: everything but GPU code generation"),
        Option("--json", "print the report as JSON"),
        Option("--ltoir", "the device code; default: LIB.ltoir beside the description", "FILE"),
        Option("--source", "the source of the device code, or the user's own; default: beside the description", "FILE"),
        Option("--include", "search this folder for user headers; may be repeated", "DIR", repeated=True),
        Option("--reference", "Python functions, one an export, that give the expected tiles", "FILE.py"),
        Option("--arch", "link for this architecture; default: that of the GPU, else that of the LTOIR", "ARCH"),
        Option("--seed", "seed of the random inputs; default: a fresh one, which the report names", "N"),
        Option("--output", "write the verification bundle to this file, too", "FILE", short="-o"),
    ),
    file="BUNDLE|LIB.tileexports.json",
)


def run(options: Namespace) -> int:
    """Print the report; 0 when every export passed or nothing could run, 1 otherwise."""
    from tilewright.callers.runner import NoDevice

    path = Path(options.file)
    described = path.name.endswith(DESCRIPTION)
    if not described and path.suffix != ".zip" and not zipfile.is_zipfile(path):
        what = f"`{path}` is neither a verification bundle nor a description"
        raise UsageError([Problem(what, hint=f"name a LIB.verify.zip, or a LIB{DESCRIPTION}")])
    try:
        report = _of_description(options) if described else _of_bundle(options)
    except NoDevice as reason:
        from tilewright.callers.report import skipped_json

        print(skipped_json(str(reason)) if options.json else f"skipping: {reason}\n", end="")
        return 0
    print(report.json() if options.json else report.text(), end="")
    return 0 if report.passed else 1


def _of_bundle(options: Namespace) -> Report:
    from tilewright.callers.bundle import read_bundle
    from tilewright.callers.runner import run_bundle

    unused = [
        f"--{key}"
        for key in ("ltoir", "source", "include", "reference", "arch", "seed", "output")
        if getattr(options, key)
    ]
    if unused:
        what = f"a bundle is run as it is: {', '.join(unused)} can be given with a description only"
        raise UsageError([Problem(what, hint=f"tilewright verify {options.file}")])
    bundle = read_bundle(Path(options.file))
    if not options.emulate:
        return run_bundle(bundle)
    from tilewright.device.workers import Workers

    with Workers(1) as workers:
        return _emulated(bundle, workers, _toolkit())


def _of_description(options: Namespace) -> Report:
    from tilewright.callers.bundle import write_bundle
    from tilewright.callers.runner import NoDevice, ensure_device, run_bundle
    from tilewright.device.workers import Workers
    from tilewright.library.publish import publish

    arch, absent = _normalized(options.arch), None
    if not options.emulate:
        try:
            arch = arch or ensure_device()
        except NoDevice as reason:
            if not options.output:
                raise
            absent = reason
    toolkit = _toolkit()
    with Workers(1) as workers:
        bundle = _bundle(options, arch, toolkit, workers)
        if options.output:
            publish({Path(options.output): write_bundle(bundle)})
        if absent:
            raise absent
        return _emulated(bundle, workers, toolkit) if options.emulate else run_bundle(bundle)


def _bundle(options: Namespace, arch: str, toolkit: Toolkit, workers: Workers) -> Bundle:
    from tilewright.callers.host.compiler import find_compiler
    from tilewright.callers.oracle.reference import load_references
    from tilewright.callers.verification import make_bundle
    from tilewright.device.ltoir_header import read_header
    from tilewright.exports.description import read_description

    exports = read_description(Path(options.file))
    ltoir_path = Path(options.ltoir) if options.ltoir else _beside(options.file, ".ltoir")
    ltoir = read_file(ltoir_path)
    module, crate = _module(options, exports, toolkit)
    given = Path(options.reference) if options.reference else None
    references = {} if given is None else load_references(given, _root(given))
    covered = all(export.name in references for export in exports.exports)
    return make_bundle(
        exports,
        ltoir,
        module,
        name=str(ltoir_path),
        arch=arch or f"sm_{read_header(ltoir).arch}",
        seed=_seed(options.seed),
        toolkit=toolkit,
        workers=workers,
        compiler="" if covered or module is None or module.language != "cuda" else find_compiler(os.environ),
        references=references,
        references_file=options.reference or "",
        oracle=_rust_oracle(crate, exports, frozenset(references), workers) if crate else None,
    )


def _rust_oracle(crate: Path, exports: ExportSet, covered: frozenset[str], workers: Workers) -> Oracle | None:
    """The functions of a Rust crate compiled for this machine, those of the exports without a reference."""
    from tilewright.callers.mock.caller import checked_exports
    from tilewright.callers.oracle.host import native_oracle
    from tilewright.exports.sizes import own_name
    from tilewright.sources.front_end import project_name
    from tilewright.sources.rust.native import native_library

    rest = tuple(export for export in checked_exports(exports).exports if own_name(export) not in covered)
    if not rest:
        return None
    root = _root(crate)
    native = native_library(crate, rest, root=root, library=exports.library)
    name = project_name(crate, root)
    return native_oracle(native.data, rest, compiler=native.compiler, source=name, workers=workers)


def _root(path: Path) -> Path:
    """The project's folder: the current one, or that of a source outside of it."""
    here, file = Path.cwd(), Path(os.path.abspath(path))
    return here if file.is_relative_to(here) else file.parent


def _module(options: Namespace, exports: ExportSet, toolkit: Toolkit) -> tuple[DeviceModule | None, Path | None]:
    """The source of the device code as the compilers got it, None when it is not there; the Rust crate behind it."""
    from tilewright.device.module import DeviceModule
    from tilewright.sources.cuda.includes import translation_unit
    from tilewright.sources.languages import RUST, is_crate

    beside = [_beside(options.file, suffix) for suffix in (".device.cu", ".ll")]
    path = Path(options.source) if options.source else next((each for each in beside if each.is_file()), None)
    if path is None:
        return None, None
    include_path = tuple(map(Path, options.include))
    if path.suffix == RUST.suffix or is_crate(path):
        return _users_module(path, exports, include_path, toolkit), path
    text = read_file(path).decode(errors="replace")
    written = re.match(r"(?://|;) Written by tilewright from (?P<origin>.+); do not edit\.\n", text)
    if path.suffix == ".ll":
        crate = Path(written["origin"]) if written else None
        return DeviceModule("nvvm", text, str(path)), crate if crate and crate.exists() else None
    if not written:
        return _users_module(path, exports, include_path, toolkit), None
    unit = translation_unit(
        text,
        origin=written["origin"],
        root=Path.cwd(),
        include_path=include_path,
        toolkit_include=toolkit.include,
    )
    return unit, None


def _users_module(path: Path, exports: ExportSet, include_path: tuple[Path, ...], toolkit: Toolkit) -> DeviceModule:
    """The device code of a user's own source, which must have the exports of the description."""
    from tilewright.device.module import DeviceModule
    from tilewright.exports.elements import ElementType
    from tilewright.exports.sizes import without_sizes
    from tilewright.sources.cuda.includes import translation_unit
    from tilewright.sources.front_end import project_name, read_source

    root = _root(path)
    source = read_source(
        path,
        root=root,
        library=exports.library,
        include_path=include_path,
        toolkit_include=toolkit.include,
        nightly_f16=any(one.element is ElementType.F16 for export in exports.exports for one in export.parameters),
    )
    if without_sizes(source.exports) != without_sizes(exports):
        what = f"the exports of `{path}` are not those of the description"
        raise UsageError([Problem(what, hint="build the library again, or name the source it was built from")])
    name = project_name(path, root)
    if source.device_suffix.endswith(".ll"):
        return DeviceModule("nvvm", source.device_text, name)
    return translation_unit(
        source.device_text,
        origin=name,
        root=root,
        include_path=include_path,
        toolkit_include=toolkit.include,
    )


def _emulated(bundle: Bundle, workers: Workers, toolkit: Toolkit | None) -> Report:
    from tilewright.callers.emulate import emulate_bundle
    from tilewright.callers.host.compiler import find_compiler

    compiled = bundle.emulation is not None and bundle.emulation.language == "cuda"
    include = toolkit.include if toolkit else ()
    return emulate_bundle(
        bundle, workers=workers, compiler=find_compiler(os.environ) if compiled else "", include=include
    )


def _toolkit() -> Toolkit:
    from tilewright.toolchain.toolkit import resolve

    return resolve(os.environ)


def _beside(description: str, suffix: str) -> Path:
    return Path(description.removesuffix(DESCRIPTION) + suffix)


def _normalized(arch: str | None) -> str:
    from tilewright.toolchain.architectures import normalize

    return normalize(arch) if arch else ""


def _seed(text: str | None) -> int:
    if text is None:
        import secrets

        return secrets.randbits(32)
    if not text.isascii() or not text.isdigit():
        raise UsageError([Problem(f"`{text}` is no seed", hint="--seed 1")])
    return int(text)
