"""`TileProgram`: a Tile C++ program or cubin, compiled against tile libraries. Spec: Calling it from Tile C++."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import Dir, File

from tilewright.problem import Problem, ProblemError, render
from tilewright.scons import architectures, guard, missing_arch, run_mode, scanner, tilelib, unavailable
from tilewright.scons.artifacts import PerArchitecture, TileLibrary
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.placement import Placement
from tilewright.scons.progress import say
from tilewright.scons.session import INCLUDE_PATH, include_folders, include_path, message, original, session_of, top_of
from tilewright.scons.signatures import sign
from tilewright.scons.variables import overridden

if TYPE_CHECKING:
    from tilewright.callers.program.compilation import Program
    from tilewright.toolchain.toolkit import Toolkit

SENTENCE = (
    "Compiles and links a Tile C++ source with tile libraries for every architecture of `arch=`: a program, or with "
    "the suffix `.cubin` its kernels alone. `options=` go to nvcc. Left out of the default targets where nvcc has no "
    "host compiler."
)
ARCH = "TILELIB_PROGRAM_ARCH"
OPTIONS = "TILELIB_PROGRAM_OPTIONS"
SIGNED = ("TILELIB_PROGRAM_SIG", ARCH, OPTIONS, INCLUDE_PATH)
CUBIN = ".cubin"
_INCLUDING = re.compile(r"(?:-I|-isystem|--include-path|--system-include)=?(.*)")


def tile_program(
    env: Env, target: str = "", source: Any = (), libraries: Any = (), options: Any = (), **given: Any
) -> PerArchitecture:
    """The method of the environment. `libraries` are `TileLibrary`s or files; `given` may set `arch`."""
    with reading_stops_cleanly():
        _check_target(target)
        session = session_of(env)
        settings = overridden(session.settings, "TileProgram", given, ("arch",))
        place = Placement(env, target, suffix="")
        libraries = list(libraries) if isinstance(libraries, (list, tuple)) and not _is_one(libraries) else [libraries]
        origin = _only_source(env, target, source)
        if run_mode.helping():
            return PerArchitecture(target, {}, [place.bare()])
        archs = architectures.chosen(settings, session, place)
        if not archs:
            stand_in = place.bare()
            if not run_mode.cleaning():
                stand_in = missing_arch.placeholder(env, place.root, stand_in, session.toolkit)
            return PerArchitecture(target, {}, [stand_in])
        sign(env, *SIGNED)
        parts = {}
        options = options.split() if isinstance(options, str) else [str(option) for option in options]
        for arch in archs:
            linked = _libraries_for(env, arch, libraries)
            parts[arch] = _declare(env, place.folder(arch), target, arch, origin, linked, options)
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
    variables = {ARCH: arch, OPTIONS: options, INCLUDE_PATH: [*include_folders(env), *headers]}
    return builder()(env, folder.File(target), [origin, *libraries], **variables)


def _libraries_for(env: Env, arch: str, libraries: list[Any]) -> list[File]:
    found: list[File] = []
    for library in libraries:
        nodes = [library[arch].library] if isinstance(library, TileLibrary) else env.arg2nodes(library, env.File)
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
    from tilewright.callers.program.compilation import compile_program
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        program = _program(target, source, env)
        try:
            compiled = compile_program(program, session_of(env).toolkit)
        except ProblemError as error:
            raise BuildScriptError([*error.problems, *_missing_bindings(str(error), source[1:])]) from None
        path = Path(target[0].abspath)
        publish({path: compiled.data})
        if not program.cubin:
            mode = path.stat().st_mode
            path.chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it
        if said := "\n".join(filter(None, (compiled.said, render(compiled.warnings)))):
            say(said)


def _program(target: list[File], source: list[File], env: Env) -> Program:
    from tilewright.callers.program.compilation import Program

    return Program(
        source=Path(source[0].get_internal_path()),
        libraries=tuple(Path(library.get_internal_path()) for library in source[1:]),
        arch=env[ARCH],
        cubin=target[0].name.endswith(CUBIN),
        include=tuple(Path(os.path.relpath(folder)) for folder in include_path(env)),
        options=tuple(str(option) for option in env[OPTIONS]),
    )


def _missing_bindings(said: str, libraries: list[File]) -> list[Problem]:
    """A remark on a header that `TileBindings` would have written."""
    names = [library.name.partition(".")[0] for library in libraries]
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
        program = _program(target, source, env)
        return shlex.join(command_of(program, session_of(env).toolkit, Path(target[0].get_internal_path())))


def builder() -> BuilderBase:
    """The builder behind the method."""
    action = Action(compile_source, message("Compiling tile program {target}", _command), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, source_scanner=scanner.include_scanner(headers_of_program))


def headers_of_program(node: File, env: Env, path: Any = ()) -> list[File]:
    """The user's headers that the program includes, those in folders that only its options name among them."""
    folders = [Path(top_of(env), folder) for folder in folders_in(env.get(OPTIONS, ()))]
    return scanner.headers_of(node, env, more=folders)


def folders_in(options: Iterable[str]) -> Iterator[str]:
    """The folders in which options of nvcc have it look for headers: `-Ia,b`, `-I a`, `--include-path=a` and such."""
    left = iter(options)
    for option in left:
        if found := _INCLUDING.fullmatch(option):
            yield from filter(None, (found[1] or next(left, "")).split(","))


def _only_source(env: Env, target: str, source: Any) -> File:
    sources = env.arg2nodes(source, env.File)
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
