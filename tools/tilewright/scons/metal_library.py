"""`MetalLibrary`: MSL compiled by Apple's compiler where there is one, and a record that says so or says why not."""

from __future__ import annotations

import atexit
import functools
import os
import platform
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Node
from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Errors import BuildError
from SCons.Node.FS import Dir, File
from SCons.Scanner import Scanner

from tilewright.problem import Problem
from tilewright.scons import guard, run_mode, tilelib
from tilewright.scons.artifacts import METAL, MSL, MetalLibrary
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.metal_sources import SUFFIX, MetalSource, sources_of
from tilewright.scons.placement import Placement
from tilewright.scons.progress import say
from tilewright.scons.scanner import headers_of, logical
from tilewright.scons.session import include_path, message, session_of, top_of
from tilewright.scons.signatures import sign
from tilewright.scons.variables import overridden

if TYPE_CHECKING:
    from tilewright.lowering.metal.offline import Compilation, MetalTools

SENTENCE = (
    "Compiles the MSL of shaders, and `.metal` files written by hand (`language=`, else that of the shaders), with "
    "Apple's compiler, each by the flags of its JSON. Where there is none the record says why, and `metal=required` "
    "makes that an error. One library has one language version."
)
GIVEN = ("metal",)
"""The variables that one library may set for itself."""

LIBRARY, RECORD, AIR = ".metallib", ".metallib.json", ".air"
REQUIRED = "required"
SYSTEM = "TILELIB_METAL_SYSTEM"
"""A construction variable that stands in for `platform.system()`, for tests on other systems than macOS."""

COMPILER, SDK, LANGUAGE = "TILELIB_METAL_COMPILER", "TILELIB_METAL_SDK", "TILELIB_METAL_LANGUAGE"
REASON = "TILELIB_METAL_SKIPPED"
IDENTITY = "TILELIB_METAL_LIBRARY_SIG"
COMPILED = (IDENTITY, COMPILER, SDK, LANGUAGE)
SKIPPED = (IDENTITY, LANGUAGE, REASON)

_READ_BY_XCRUN = ("PATH", "DEVELOPER_DIR", "TOOLCHAINS", "SDKROOT")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_skips: list[tuple[File, File, str]] = []


def metal_library(env: Env, name: str = "", sources: Any = (), language: str = "", **given: Any) -> MetalLibrary:
    """The method of the environment. `given` may set the variables in `GIVEN`."""
    with reading_stops_cleanly():
        settings = overridden(session_of(env).settings, given)
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise BuildScriptError.of(f"`{name}` cannot name a Metal library", "letters, digits, `_`, `-` and `.`")
        place = Placement(env, name, suffix=LIBRARY)
        chosen = [] if run_mode.helping() else sources_of(env, name, sources, language)
        if not chosen:
            return MetalLibrary(name, [], [], [])
        folder = place.folder(METAL)
        library, record = folder.File(name + LIBRARY), folder.File(name + RECORD)
        if record.is_derived():
            raise BuildScriptError.of(f"there are two Metal libraries `{name}` in one folder", "give each its own name")
        sign(env, IDENTITY)
        version = {LANGUAGE: chosen[0].language}
        if run_mode.cleaning():
            return _compiled(env, name, library, record, chosen, {**version, COMPILER: "", SDK: ""})
        tools = tools_of(env)
        if reason := _skip_reason(tools, name, version[LANGUAGE]):
            make = _refused if settings.metal == REQUIRED else _skipped
            return make(env, name, library, record, chosen, {**version, REASON: reason})
        return _compiled(env, name, library, record, chosen, {**version, COMPILER: tools.compiler, SDK: tools.sdk})


def tools_of(env: Env) -> MetalTools:
    """What compiles MSL here. Only macOS is asked, once a run."""
    return _found(str(env.get(SYSTEM, platform.system())), tuple(os.environ.get(name, "") for name in _READ_BY_XCRUN))


@functools.cache
def _found(system: str, _relevant: tuple[str, ...]) -> MetalTools:
    from tilewright.lowering.metal.offline import find_tools

    return find_tools(system)


def _skip_reason(tools: MetalTools, name: str, language: str) -> str:
    from tilewright.lowering.metal.offline import by_hand, skip_reason

    return skip_reason(tools, name, by_hand(language).required_os)


def _compiled(
    env: Env, name: str, library: File, record: File, sources: list[MetalSource], variables: dict[str, str]
) -> MetalLibrary:
    own: Dir = library.dir.Dir(name + AIR)
    airs = [node for each in sources for node in air_builder()(env, own.File(each.stem + AIR), each.files, **variables)]
    made = link_builder()(env, [library, record], [*airs, *_files(sources)], **variables)
    return MetalLibrary(name, made[:1], made[1:], airs)


def _skipped(
    env: Env, name: str, library: File, record: File, sources: list[MetalSource], variables: dict[str, str]
) -> MetalLibrary:
    guard.discard(library.dir, library.name)
    made = skip_builder()(env, record, _files(sources), **variables)
    made[0].Tag(tilelib.REASON, variables[REASON])
    if not run_mode.only_looking():
        if not _skips:
            atexit.register(_tell_skips)
        _skips.append((record, library, variables[REASON]))
    return MetalLibrary(name, [], made, [])


def _refused(
    env: Env, name: str, library: File, record: File, sources: list[MetalSource], variables: dict[str, str]
) -> MetalLibrary:
    run_mode.keep_going()
    made = refusal_builder()(env, [library, record], _files(sources), **variables)
    return MetalLibrary(name, made[:1], made[1:], [])


def _files(sources: list[MetalSource]) -> list[File]:
    return [file for each in sources for file in each.files]


def _tell_skips() -> None:
    """When SCons ends: one line a reason, of the libraries that this run was asked for, also when nothing was new."""
    good = (SCons.Node.up_to_date, SCons.Node.executed)
    libraries: dict[str, list[str]] = {}
    for record, library, reason in _skips:
        if record.get_state() in good:
            libraries.setdefault(reason, []).append(library.get_internal_path())
    for reason, paths in libraries.items():
        say(f"skipping: {', '.join(paths)}: {reason}")


def compile_source(target: list[File], source: list[File], env: Env) -> None:
    """Action: `.metal` to `.air`."""
    from tilewright.library.publish import publish
    from tilewright.lowering.metal.offline import made_by

    with one_clean_error(target[0]):
        ((file, how),) = _pairs(source, env)
        made, said = made_by(lambda air: _air_words(file, how, air, env), target[0].name, top_of(env))
        if said:
            say(f"{logical(file, env)}:\n{said}")
        publish({Path(target[0].abspath): made})


def link_library(target: list[File], source: list[File], env: Env) -> None:
    """Action: the library of all `.air` files, in order, and its record."""
    from tilewright.library.publish import publish
    from tilewright.lowering.metal.offline import MetalTools, library_command, library_record, made_by

    with one_clean_error(target[0]):
        name, inputs = target[0].name.removesuffix(LIBRARY), _inputs(source, env)
        airs = [_path(node, env) for node in source if node.name.endswith(AIR)]
        made, said = made_by(lambda library: library_command(airs, library), target[0].name, top_of(env))
        record = library_record(name, inputs, library=made, tools=MetalTools(compiler=env[COMPILER], sdk=env[SDK]))
        if said:
            say(f"{logical(target[0], env)}:\n{said}")
        publish({Path(target[0].abspath): made, Path(target[1].abspath): record})


def write_skip(target: list[File], source: list[File], env: Env) -> None:
    """Action where nothing compiles MSL and the library is optional."""
    from tilewright.library.publish import publish
    from tilewright.lowering.metal.offline import library_record

    with one_clean_error(target[0]):
        name = target[0].name.removesuffix(RECORD)
        publish({Path(target[0].abspath): library_record(name, _inputs(source, env), reason=env[REASON])})


def refuse_library(target: list[File], source: list[File], env: Env) -> None:
    """Action where nothing compiles MSL and the library is required."""
    hint = "without metal=required the MSL alone is made, and the library's record says why"
    raise BuildError(target[0], str(Problem(f"{target[0]} cannot be made here: {env[REASON]}", hint=hint)))


def _inputs(source: list[File], env: Env) -> dict[str, tuple[bytes, Compilation]]:
    """The sources by name: contents, and how each is compiled; LoweringError for kernels of one name."""
    from tilewright.lowering.metal.offline import refuse_equal_kernels

    inputs = {file.name: (Path(file.abspath).read_bytes(), how) for file, how in _pairs(source, env)}
    refuse_equal_kernels({name: how.entry for name, (_, how) in inputs.items() if how.entry})
    return inputs


def _pairs(source: list[File], env: Env) -> Iterator[tuple[File, Compilation]]:
    """Each `.metal` and how it is compiled: as the JSON after it says, else as a source written by hand."""
    from tilewright.lowering.metal.offline import by_hand, described

    inputs = [node for node in source if not node.name.endswith(AIR)]
    for node, after in zip(inputs, [*inputs[1:], None], strict=True):
        if not node.name.endswith(SUFFIX):
            continue
        if after is None or after.name.endswith(SUFFIX):
            yield node, by_hand(env[LANGUAGE])
            continue
        how = described(Path(after.abspath).read_bytes())
        if how is None or how.language != env[LANGUAGE]:
            raise BuildScriptError.of(f"`{after}` is no description of MSL {env[LANGUAGE]}", "make it again")
        yield node, how


def _air_words(file: File, how: Compilation, air: Path, env: Env) -> list[str]:
    from tilewright.lowering.metal.offline import air_command

    return air_command(how, _path(file, env), air, () if how.entry else include_path(env))


def _path(node: File, env: Env) -> str:
    """As a compiler is told, which runs in the top folder: what it writes of it is the same in every checkout."""
    name = logical(node, env)
    return node.get_abspath() if name.startswith("..") else name


def _air_line(target: list[File], source: list[File], env: Env) -> str:
    """The command under `verbose=1`; a dry run may have no description yet to make it of."""
    try:
        ((file, how),) = _pairs(source, env)
    except (OSError, BuildScriptError):
        return f"Compiling MSL {source[0]}"
    return shlex.join(_air_words(file, how, Path(str(target[0])), env))


def _link_line(target: list[File], source: list[File], env: Env) -> str:
    from tilewright.lowering.metal.offline import library_command

    airs = [_path(node, env) for node in source if node.name.endswith(AIR)]
    return shlex.join(library_command(airs, Path(str(target[0]))))


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter. No cache keeps these: Apple's compiler reads more than what is signed."""
    with reading_stops_cleanly():
        guard.distrust(target)
        guard.keep_until_replaced(target)
        env.NoCache(target)
        return target, source


def air_builder() -> BuilderBase:
    """The builder of one `.air`."""
    action = Action(compile_source, message("Compiling MSL {source}", _air_line), varlist=COMPILED)
    headers = Scanner(function=written_headers, name="tilelib metal includes", skeys=[SUFFIX])
    return Builder(action=action, emitter=declare_outputs, source_scanner=headers, suffix=AIR)


def written_headers(node: File, env: Env, path: Any = ()) -> list[File]:
    """The headers of the project that a source includes; generated MSL has none."""
    return [] if node.GetTag(MSL) or not node.name.endswith(SUFFIX) else headers_of(node, env)


def link_builder() -> BuilderBase:
    """The builder of the library and its record."""
    action = Action(link_library, message("Making Metal library {target}", _link_line), varlist=COMPILED)
    return Builder(action=action, emitter=declare_outputs)


def skip_builder() -> BuilderBase:
    """The builder of the record that stands alone."""
    return Builder(action=Action(write_skip, None, varlist=SKIPPED), emitter=declare_outputs)


def refusal_builder() -> BuilderBase:
    """The builder that fails. What was made earlier is deleted first, as it would pass for what was asked for."""
    return Builder(action=Action(refuse_library, None, varlist=SKIPPED))
