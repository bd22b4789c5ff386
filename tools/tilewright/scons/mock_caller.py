"""`TileMockCaller`: a library's exports called as a tile compiler would, to be checked on a GPU or on the CPU.

Spec: Verifying the ABI on CUDA 13.4.  Its files are made for the aliases `verify` and `verify-emulate` alone, not by
default: they need the C++ compiler of the host.
"""

from __future__ import annotations

import json
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
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.missing_arch import targets_on_command_line
from tilewright.scons.pool import workers
from tilewright.scons.progress import say
from tilewright.scons.session import INCLUDE_PATH, include_path, message, session_of, top_of
from tilewright.scons.signatures import sign
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
SIGNED = {"cuda": ("TILELIB_MOCK_SIG", ARCH, INCLUDE_PATH), "nvvm": ("TILELIB_MOCK_SIG", "TILELIB_NATIVE_SIG", ARCH)}
"""What is signed, by the language of the device code."""

BUNDLE, CALLER = ".verify", ".mock_caller.cu"
SEED = 1
"""Of the random inputs: equal libraries give equal bundles, while `tilewright verify` takes fresh ones."""

_skips: set[str] = set()


def tile_mock_caller(env: Env, library: Any = (), reference: Any = ()) -> PerArchitecture:
    """The method of the environment. Its nodes: manifest and cubin of the bundle, and the source of the caller."""
    with reading_stops_cleanly():
        if not isinstance(library, TileLibrary):
            raise BuildScriptError.of("`TileMockCaller` verifies what `TileLibrary` returns", "give it the library")
        if any(artifacts.device is artifacts.ltoir for artifacts in library.parts.values()):
            what = f"`{library.name}` cannot be verified: that takes device code, which `cargo oxide` does not leave"
            raise BuildScriptError.of(what, "build it with rust_backend=stable for that")
        references = env.arg2nodes(reference, env.File)
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
    folder = artifacts.exports.dir.Dir(name + BUNDLE)
    targets = [folder.File("manifest.json"), folder.File(name + ".cubin"), artifacts.exports.dir.File(name + CALLER)]
    sources = [artifacts.exports, artifacts.ltoir, artifacts.device, *references]
    language = language_of_device_code(Path(artifacts.device.abspath), str(artifacts.device)).device
    sign(env, *SIGNED[language])
    made = builder(language)(env, targets, sources, **{ARCH: arch})
    if language == "nvvm":  # what is compiled for this machine may be other code of the crate than the device's
        origin = scanner.origin_of(artifacts.device)
        env.Depends(made, [origin, *scanner.headers_of(origin, env)])
    env.Clean(made, folder)
    env.NoCache(made)  # a cache would give back the manifest without the tiles that it lists
    if not run_mode.cleaning():
        for node in made:
            env.Ignore(node.dir, node)
    return made


def _runs(env: Env, alias: str, manifest: File, action: Callable[..., None]) -> Any:
    """An alias of its own for a bundle, so that each succeeds or fails alone."""
    (run,) = env.Alias(f"{alias}:{manifest.dir.get_internal_path()}", manifest, Action(action, None))
    env.AlwaysBuild(run)
    return run


def write_bundle(target: list[File], source: list[File], env: Env) -> None:
    """Action: links the caller with the library and works out what its exports must give."""
    from tilewright.callers.bundle import bundle_files
    from tilewright.callers.mock.caller import caller_source, checked_exports, split
    from tilewright.callers.oracle.reference import load_references
    from tilewright.callers.verification import make_bundle
    from tilewright.exports.description import parse_description
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        description, ltoir, device, *references = source
        exports = parse_description(Path(description.abspath).read_bytes(), str(description))
        given = {
            name: function for file in references for name, function in load_references(Path(file.abspath)).items()
        }
        module = _module(device, env)
        bundle = make_bundle(
            exports,
            Path(ltoir.abspath).read_bytes(),
            module,
            name=str(ltoir),
            arch=env[ARCH],
            seed=SEED,
            toolkit=session_of(env).toolkit,
            workers=workers(),
            compiler=_compiler(exports, given, module),
            references=given,
            references_file=str(references[0]) if references else "",
            oracle=_rust_oracle(device, exports, given, env) if module.language == "nvvm" else None,
        )
        folder = Path(target[0].dir.get_abspath())
        files = bundle_files(bundle)
        before = _listed(folder)
        caller = caller_source(split(checked_exports(exports))[0])
        publish({Path(target[2].abspath): caller.encode(), **{folder / name: data for name, data in files.items()}})
        for name in before - files.keys():
            (folder / name).unlink(missing_ok=True)


def _compiler(exports: ExportSet, given: dict[str, Callable[..., Any]], module: DeviceModule) -> str:
    from tilewright.callers.host.compiler import find_compiler

    covered = all(export.name in given for export in exports.exports)
    return "" if covered or module.language != "cuda" else find_compiler(os.environ)


def _rust_oracle(device: File, exports: ExportSet, given: Collection[str], env: Env) -> Oracle | None:
    """The functions of the Rust source compiled for this machine, those of the exports without a reference."""
    from tilewright.callers.mock.caller import checked_exports
    from tilewright.callers.oracle.host import native_oracle
    from tilewright.exports.sizes import own_name
    from tilewright.sources.rust.native import native_library

    rest = tuple(export for export in checked_exports(exports).exports if own_name(export) not in given)
    if not rest:
        return None
    origin = scanner.origin_of(device)
    native = native_library(Path(origin.abspath), rest, root=top_of(env), library=exports.library)
    source = scanner.logical(origin, env)
    return native_oracle(native.data, rest, compiler=native.compiler, source=source, workers=workers())


def _module(device: File, env: Env) -> DeviceModule:
    from tilewright.sources.front_end import translation_unit
    from tilewright.sources.text import read_text

    path = Path(device.abspath)
    return translation_unit(
        language_of_device_code(path, str(device)),
        read_text(path, str(device)),
        origin=scanner.logical(scanner.origin_of(device), env),
        root=top_of(env),
        include_path=include_path(env),
        toolkit_include=session_of(env).toolkit.include,
    )


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


def _report(manifest: File, run: Callable[[Bundle], Report]) -> None:
    from tilewright.callers.bundle import read_bundle

    with one_clean_error(manifest):
        report = run(read_bundle(Path(manifest.dir.get_internal_path())))
        say(report.text().rstrip("\n"))
    if not report.passed:
        raise BuildError(manifest, report.summary)


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: a bundle that lacks one of its files is made again."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        folder = Path(target[0].dir.get_abspath())
        if not run_mode.only_looking() and any(not (folder / name).is_file() for name in _listed(folder)):
            (folder / target[0].name).unlink(missing_ok=True)
            target[0].clear_memoized_values()
        return target, source


def _listed(folder: Path) -> set[str]:
    """The files that the manifest in the folder lists; none where there is no manifest."""
    try:
        return set(json.loads((folder / "manifest.json").read_bytes())["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def builder(language: str) -> BuilderBase:
    """The builder behind the method, for device code in a language."""
    action = Action(write_bundle, message("Preparing the verification of {source}"), varlist=SIGNED[language])
    return Builder(action=action, emitter=declare_outputs, source_scanner=scanner.include_scanner())
