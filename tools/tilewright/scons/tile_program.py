"""`TileProgram`: a Tile C++ program or cubin, compiled against tile libraries. Spec: Calling it from Tile C++."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import Dir, File

from tilewright.problem import Problem, ProblemError, render
from tilewright.scons import architectures, guard, missing_arch, run_mode, scanner, tilelib, unavailable
from tilewright.scons.artifacts import PerArchitecture, TileLibrary
from tilewright.scons.calls import files_given, words_given
from tilewright.scons.errors import BuildScriptError, declared_once, one_clean_error, reading_stops_cleanly
from tilewright.scons.placement import Placement
from tilewright.scons.program_options import (
    check_options,
    folders_in,
    header_folders,
    includes_others,
    named_files,
    words_of,
)
from tilewright.scons.session import INCLUDE_PATH, include_folders, message, original, session_of, top_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, folders_for, step_of
from tilewright.scons.variables import overridden
from tilewright.scons.watched_reads import hidden_dependency, hidden_reads

if TYPE_CHECKING:
    from tilewright.callers.program.compilation import Program
    from tilewright.toolchain.toolkit import Toolkit

SENTENCE = (
    "Compiles and links a Tile C++ source with tile libraries for every architecture of `arch=`: a program, or with "
    "the suffix `.cubin` its kernels alone. `options=` go to nvcc. Left out of the default targets where nvcc has no "
    "host compiler."
)
GIVEN = ("arch",)
"""The variables that one program may set for itself."""

ARCH = "TILELIB_PROGRAM_ARCH"
OPTIONS = "TILELIB_PROGRAM_OPTIONS"
LIBRARIES = "TILELIB_PROGRAM_LIBRARIES"
"""Where the libraries lie: a program, unlike a cubin, holds the assembler's command as text."""

SIGNED = ("TILELIB_PROGRAM_SIG", ARCH, OPTIONS, INCLUDE_PATH, LIBRARIES)
CUBIN = ".cubin"
ADVICE = 'env.Depends(program, "{}"), or add its folder to TILELIB_INCLUDE_PATH'


def tile_program(
    env: Env, target: str = "", source: Any = (), libraries: Any = (), options: Any = (), **given: Any
) -> PerArchitecture:
    """The method of the environment. `libraries` are `TileLibrary`s or files; `given` may set those in `GIVEN`."""
    with reading_stops_cleanly():
        _check_target(target)
        session = session_of(env)
        settings = overridden(session.settings, given)
        place = Placement(env, target, suffix="")
        libraries = list(libraries) if isinstance(libraries, (list, tuple)) and not _is_one(libraries) else [libraries]
        origin = _only_source(env, target, source)
        if run_mode.helping():
            return PerArchitecture(target, {}, [place.bare()])
        archs = architectures.chosen(settings, session, place)
        if not archs:
            stand_in = place.bare()
            if not run_mode.cleaning():
                stand_in = missing_arch.placeholder(env, place.root, stand_in, session)
            return PerArchitecture(target, {}, [stand_in])
        sign(env, *SIGNED)
        parts = {}
        options = words_given(options)
        check_options(words_of(options, os.environ))
        for arch in archs:
            linked = _libraries_for(env, arch, libraries)
            folder = place.folder(arch)
            with declared_once(folder.File(target), "programs", target):
                parts[arch] = _declare(env, folder, target, arch, origin, linked, options)
        made = PerArchitecture(target, parts, [])
        if not run_mode.cleaning() and (why := _obstacle(made, session.toolkit, options)):
            unavailable.leave_out(env, list(made), f"{place.below}/{target}".removeprefix("./"), why)
        return made


def _is_one(libraries: Any) -> bool:
    return isinstance(libraries, TileLibrary)


def _declare(
    env: Env, folder: Dir, target: str, arch: str, origin: File, libraries: list[File], options: list[str]
) -> list[File]:
    """The folders of the libraries are searched for headers last: the bindings lie there."""
    headers = dict.fromkeys(library.dir for library in libraries)
    paths = "" if target.endswith(CUBIN) else "\n".join(scanner.logical(library, env) for library in libraries)
    folders = [*include_folders(env), *headers]
    variables = {ARCH: arch, OPTIONS: options, INCLUDE_PATH: folders, LIBRARIES: paths}
    return builder()(env, folder.File(target), [origin, *libraries], **variables)


def _libraries_for(env: Env, arch: str, libraries: list[Any]) -> list[File]:
    found: list[File] = []
    for library in libraries:
        nodes = [library[arch].library] if isinstance(library, TileLibrary) else files_given(env, library)
        for node in nodes:
            _refuse_left_behind(node)
        found += nodes
    return found


def _refuse_left_behind(library: File) -> None:
    """A library of another build that was skipped there: SCons would only say that it is not found."""
    skipped = Path(library.get_abspath() + ".skipped")
    if not run_mode.cleaning() and not library.is_derived() and not library.exists() and skipped.is_file():
        reason = skipped.read_text(encoding="utf-8", errors="replace").rstrip("\n")
        raise BuildScriptError([Problem(f"the library `{library}` was skipped when it was built", detail=reason)])


def _obstacle(made: PerArchitecture, toolkit: Toolkit, options: list[str]) -> Problem | None:
    """Why the program cannot be made here: a library that there is not, no nvcc, or none of the host's compilers."""
    from tilewright.toolchain.host_compiler import missing_host_compiler
    from tilewright.toolchain.toolkit import missing

    for node in made:
        for library in node.sources[1:]:
            if why := unavailable.reason_of(library):
                return Problem(f"it needs {library.name}: {why.what}", hint=why.hint, detail=why.detail)
            if reason := library.GetTag(tilelib.REASON):
                name = library.name.removesuffix(".skipped")
                return Problem(f"it needs {name}, which was skipped", detail=reason)
    if toolkit.nvcc is None:
        return missing(toolkit, "nvcc")
    return missing_host_compiler(os.environ, options)


def compile_source(target: list[File], source: list[File], env: Env) -> None:
    """Action: compiles, links, looks at the machine code, then publishes."""
    step = _step(target, source, env)
    carry_out(step, target, env, executable=not _program(step).cubin)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    options = {"arch": env[ARCH], "include": folders_for(env), "options": [str(option) for option in env[OPTIONS]]}
    return step_of("program", target, source, env, signed=SIGNED, options=options)


def make_program(step: Step, here: Surroundings) -> Made:
    """A program, or a cubin, of a source and its libraries."""
    from tilewright.callers.program.compilation import compile_program

    program = _program(step)
    try:
        compiled = compile_program(program, here.toolkit)
    except ProblemError as error:
        raise BuildScriptError([*error.problems, *_missing_bindings(str(error), step.sources[1:])]) from None
    _refuse_hidden(compiled.read, step, here)
    said = "\n".join(filter(None, (compiled.said, render(compiled.warnings))))
    return Made((compiled.data,), said)


def _program(step: Step) -> Program:
    """The paths stay relative: nvcc runs in the folder that they are relative to."""
    from tilewright.callers.program.compilation import Program

    source, *libraries = map(Path, step.sources)
    return Program(
        source=source,
        libraries=tuple(libraries),
        arch=step.options["arch"],
        cubin=step.targets[0].endswith(CUBIN),
        include=tuple(map(Path, step.options["include"])),
        options=tuple(step.options["options"]),
    )


def _missing_bindings(said: str, libraries: Iterable[str]) -> list[Problem]:
    """A remark on a header that `TileBindings` would have written."""
    names = [Path(library).name.partition(".")[0] for library in libraries]
    return [
        Problem(f"there is no `{name}_tile.h`", hint=f"env.TileBindings({name}) writes it")
        for name in names
        if f"{name}_tile.h: No such file" in said
    ]


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the user's own source is compiled, never a variant folder's copy."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, [original(source[0]), *source[1:]]


def _command(target: list[File], source: list[File], env: Env) -> str:
    from tilewright.callers.program.compilation import command_of

    with one_clean_error(target[0]):
        step = _step(target, source, env)
        return shlex.join(command_of(_program(step), session_of(env).toolkit, Path(step.targets[0])))


def builder() -> BuilderBase:
    """The builder behind the method."""
    action = Action(compile_source, message("Compiling tile program {target}", _command, _step), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, source_scanner=scanner.include_scanner(headers_of_program))


def headers_of_program(node: File, env: Env, path: Any = ()) -> list[File]:
    """The user's headers that the program includes, those in folders that only its options name among them.

    With the source come the files that options name, and what they include.
    """
    folders = _option_folders(env)
    found = scanner.headers_of(node, env, more=folders)
    if node.name.endswith(tilelib.SUFFIX):
        return found
    options = [str(option) for option in env.get(OPTIONS, ())]
    for path_of_one in named_files(options, os.environ, top_of(env), lambda name: scanner.made_or_there(name, env)):
        named: File = env.fs.File(os.fspath(path_of_one))
        found += [named, *(scanner.headers_of(named, env, more=folders) if includes_others(path_of_one) else [])]
    return list(dict.fromkeys(found))


def _option_folders(env: Env) -> list[Path]:
    options = [str(option) for option in env.get(OPTIONS, ())]
    return [Path(top_of(env), folder) for folder in folders_in(words_of(options, os.environ))]


def _refuse_hidden(read: tuple[Path, ...], step: Step, here: Surroundings) -> None:
    """BuildScriptError for a header that no scanner could see, as one whose name a macro makes."""
    options = folders_in(words_of(step.options["options"], os.environ))
    folders = here.paths([".", *step.options["include"], *options, *header_folders(os.environ)])
    toolkit = here.toolkit
    if hidden := hidden_reads(read, here.paths(step.inputs), folders, but=(toolkit.root, *toolkit.include)):
        raise hidden_dependency(hidden, here.root, step.sources[0], ADVICE)


def _only_source(env: Env, target: str, source: Any) -> File:
    sources = files_given(env, source)
    if len(sources) != 1:
        raise BuildScriptError.of(
            f"the program `{target}` has {len(sources)} sources, and a tile program is made from one",
            "include the other files from the one that holds the kernels",
        )
    return sources[0]


def _check_target(target: Any) -> None:
    if not (isinstance(target, str) and target and os.path.basename(target) == target):
        what = f"`{target}` cannot name a tile program: its folder follows from the architecture"
        raise BuildScriptError.of(what, "a file name, such as caller or caller.cubin")
