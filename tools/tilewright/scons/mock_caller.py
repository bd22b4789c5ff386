"""`TileMockCaller`: a library's exports called as a tile compiler would, to be checked on a GPU or on the CPU.

Spec: Verifying the ABI on CUDA 13.4.  Its files are made for the aliases `verify` and `verify-emulate` alone, not by
default: they need the C++ compiler of the host.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Errors import BuildError
from SCons.Node.FS import File

from tilewright.scons import guard, run_mode, scanner, unavailable
from tilewright.scons.artifacts import Artifacts, PerArchitecture, TileLibrary
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.ltoir import device_module, module_options
from tilewright.scons.missing_arch import targets_on_command_line
from tilewright.scons.pool import workers
from tilewright.scons.progress import say
from tilewright.scons.session import INCLUDE_PATH, message, original, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, step_of
from tilewright.scons.tile_shader import RELEASES, modules_of, releases_imported
from tilewright.scons.watched_reads import WatchedReads
from tilewright.sources.languages import language_of_device_code

if TYPE_CHECKING:
    from tilewright.callers.bundle import Bundle
    from tilewright.callers.oracle.expectation import Oracle
    from tilewright.callers.report import Report
    from tilewright.device.module import DeviceModule
    from tilewright.exports.model import ExportSet

SENTENCE = (
    "Makes the mock caller of a library and its verification bundle, for the aliases `verify` (on the GPU; without one "
    "it says `skipping: ...`) and `verify-emulate` (on the CPU). `reference=` is a Python file with a function an "
    "export that gives the expected tiles."
)
VERIFY, EMULATE = "verify", "verify-emulate"
ARCH = "TILELIB_MOCK_ARCH"
SIGNED = {
    "cuda": ("TILELIB_MOCK_SIG", ARCH, RELEASES, INCLUDE_PATH),
    "nvvm": ("TILELIB_MOCK_SIG", "TILELIB_NATIVE_SIG", ARCH, RELEASES),
}
"""What is signed, by the language of the device code."""

BUNDLE, CALLER = ".verify.zip", ".mock_caller.cu"
SEED = 1
"""Of the random inputs: equal libraries give equal bundles, while `tilewright verify` takes fresh ones."""

ADVICE = (
    "a module in its folder or the top one: `import` it by name\n"
    'another file: env.Depends(mock, "{}"), where mock is what TileMockCaller returned'
)

_skips: set[str] = set()


def tile_mock_caller(env: Env, library: Any = (), reference: Any = ()) -> PerArchitecture:
    """The method of the environment. Its nodes: the bundle, and the source of the caller."""
    with reading_stops_cleanly():
        if not isinstance(library, TileLibrary):
            raise BuildScriptError.of("`TileMockCaller` verifies what `TileLibrary` returns", "give it the library")
        if any(artifacts.device is artifacts.ltoir for artifacts in library.parts.values()):
            what = f"`{library.name}` cannot be verified: that takes device code, which `cargo oxide` does not leave"
            raise BuildScriptError.of(what, "build it with rust_backend=stable for that")
        references = [original(each) for each in files_given(env, reference)]
        asked = bool({VERIFY, EMULATE} & targets_on_command_line().keys())
        parts = {arch: _declare(env, library, arch, artifacts, references) for arch, artifacts in library.parts.items()}
        why = next((why for one in library.parts.values() if (why := unavailable.reason_of(one.exports))), None)
        if why and asked:
            say(f"tilewright: {library.name} is not verified: {why.what}")
        elif asked and library.parts:
            run_mode.keep_going()  # every library is verified, although one fails
        for name, action in ((VERIFY, verify), (EMULATE, verify_emulated)):
            bundles = [] if why else [_runs(env, name, made[0], action) for made in parts.values()]
            env.Alias(name, bundles if library.parts else list(library))
        return PerArchitecture(library.name, parts, list(library))


def _declare(env: Env, library: TileLibrary, arch: str, artifacts: Artifacts, references: list[File]) -> list[File]:
    name = library.name
    folder = artifacts.exports.dir
    targets = [folder.File(name + BUNDLE), folder.File(name + CALLER)]
    sources = [artifacts.exports, artifacts.ltoir, artifacts.device, *references]
    language = language_of_device_code(Path(artifacts.device.abspath), str(artifacts.device)).device
    sign(env, *SIGNED[language])
    made = builder(language)(env, targets, sources, **{ARCH: arch, RELEASES: releases_imported})
    if language == "nvvm":  # what is compiled for this machine may be other code of the crate than the device's
        origin = scanner.origin_of(artifacts.device)
        env.Depends(made, [origin, *scanner.headers_of(origin, env)])
    if not run_mode.cleaning():
        for node in made:
            env.Ignore(node.dir, node)
    return made


def _runs(env: Env, alias: str, bundle: File, action: Callable[..., None]) -> Any:
    """An alias of its own for a bundle, so that each succeeds or fails alone."""
    (run,) = env.Alias(f"{alias}:{bundle.get_internal_path()}", bundle, Action(action, None))
    env.AlwaysBuild(run)
    return run


def write_files(target: list[File], source: list[File], env: Env) -> None:
    """Action: links the caller with the library and works out what its exports must give."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    device = source[2]
    language = language_of_device_code(Path(device.abspath), str(device)).device
    options = {"arch": str(env[ARCH]), **module_options(device, env)}
    more = [scanner.origin_of(device)]
    return step_of("bundle", target, source, env, signed=SIGNED[language], options=options, more=more)


def make_files(step: Step, here: Surroundings) -> Made:
    """The bundle, and the source of the caller."""
    from tilewright.callers.bundle import write_bundle
    from tilewright.callers.mock.caller import caller_source, checked_exports, split
    from tilewright.callers.oracle.reference import load_references
    from tilewright.callers.verification import make_bundle
    from tilewright.exports.description import parse_description

    description, ltoir, device, *references = step.sources
    exports = parse_description(here.path(description).read_bytes(), description)
    module = device_module(device, step, here)
    reads = WatchedReads(here.root)
    given: dict[str, Callable[..., Any]] = {}
    for file in references:
        with reads():
            functions = load_references(Path(file), here.root)
        given |= {name: reads.watching(function) for name, function in functions.items()}
    bundle = make_bundle(
        exports,
        here.path(ltoir).read_bytes(),
        module,
        name=ltoir,
        arch=step.options["arch"],
        seed=SEED,
        toolkit=here.toolkit,
        workers=here.workers,
        compiler=_compiler(exports, given, module),
        references=given,
        references_file=references[0] if references else "",
        oracle=_rust_oracle(exports, given, step, here) if module.language == "nvvm" else None,
    )
    if references:
        reads.refuse_hidden(here.paths(step.inputs), references[0], ADVICE)
    caller = caller_source(split(checked_exports(exports))[0])
    return Made((write_bundle(bundle), caller.encode()))


def _compiler(exports: ExportSet, given: dict[str, Callable[..., Any]], module: DeviceModule) -> str:
    from tilewright.callers.host.compiler import find_compiler

    covered = all(export.name in given for export in exports.exports)
    return "" if covered or module.language != "cuda" else find_compiler(os.environ)


def _rust_oracle(exports: ExportSet, given: Collection[str], step: Step, here: Surroundings) -> Oracle | None:
    """The functions of the Rust source compiled for this machine, those of the exports without a reference."""
    from tilewright.callers.mock.caller import checked_exports
    from tilewright.callers.oracle.host import native_oracle
    from tilewright.exports.sizes import own_name
    from tilewright.sources.rust.native import native_library

    rest = tuple(export for export in checked_exports(exports).exports if own_name(export) not in given)
    if not rest:
        return None
    origin = step.options["origin"]
    native = native_library(here.path(origin), rest, root=here.root, library=exports.library)
    return native_oracle(native.data, rest, compiler=native.compiler, source=origin, workers=here.workers)


def verify(target: list[Any], source: list[File], env: Env) -> None:
    """Action of the alias: runs the bundle on the GPU and prints the report; one line for every reason to skip."""
    from tilewright.callers.runner import NoDevice, run_bundle

    try:
        _report(source[0], run_bundle)
    except NoDevice as reason:
        if str(reason) not in _skips:
            _skips.add(str(reason))
            say(f"skipping: {reason}")


def verify_emulated(target: list[Any], source: list[File], env: Env) -> None:
    """Action of the alias: runs the bundle on the CPU and prints the report."""
    from tilewright.callers.emulate import emulate_bundle
    from tilewright.callers.host.compiler import find_compiler

    def run(bundle: Bundle) -> Report:
        compiled = bundle.emulation is not None and bundle.emulation.language == "cuda"
        compiler = find_compiler(os.environ) if compiled else ""
        return emulate_bundle(bundle, workers=workers(), compiler=compiler, include=session_of(env).toolkit.include)

    _report(source[0], run)


def _report(bundle: File, run: Callable[[Bundle], Report]) -> None:
    from tilewright.callers.bundle import read_bundle

    with one_clean_error(bundle):
        report = run(read_bundle(Path(bundle.get_internal_path())))
        say(report.text().rstrip("\n"))
    if not report.passed:
        raise BuildError(bundle, report.summary)


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, source


def files_of(node: File, env: Env, path: Any = ()) -> list[File]:
    """What is read besides a source: the headers of device code, the modules that a reference imports."""
    return modules_of(node, env) if node.name.endswith(".py") else scanner.headers_of(node, env)


def builder(language: str) -> BuilderBase:
    """The builder behind the method, for device code in a language."""
    action = Action(
        write_files, message("Preparing the verification of {source}", step=_step), varlist=SIGNED[language]
    )
    return Builder(action=action, emitter=declare_outputs, source_scanner=scanner.include_scanner(files_of))
