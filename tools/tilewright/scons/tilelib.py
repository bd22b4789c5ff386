"""`Tilelib`: descriptions and device code in one file, or the word why not. Spec: The tileiras requirement."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Errors import BuildError
from SCons.Node.FS import File

from tilewright.scons import guard
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.progress import say
from tilewright.scons.session import launched_line, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, step_of

SUFFIX = ".tilelib"
SKIPPED = ".tilelib.skipped"
REASON = "TILELIB_SKIPPED"
SIGNED = ("TILELIB_LIBRARY_SIG",)


def pack_library(target: list[File], source: list[File], env: Env) -> None:
    """Action: packs in a private folder, so that no path gets into the bytes, then publishes."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    return step_of("library", target, source[:3], env, signed=SIGNED, options={})


def make_library(step: Step, here: Surroundings) -> Made:
    """A library of interface, implementation and LTOIR."""
    from tilewright.library.messages import written_to
    from tilewright.library.static import pack

    interface, implementation, code = (path.read_bytes() for path in here.paths(step.sources))
    (library,) = map(Path, step.targets)
    data = pack(interface, implementation, code, stem=library.name.removesuffix(SUFFIX), toolkit=here.toolkit)
    return Made((data,), written_to(library))


def refuse_library(target: list[File], source: list[File], env: Env) -> None:
    """Action where the assembler cannot pack: says why on standard output, and fails."""
    say(env[REASON])
    name = target[0].name
    raise BuildError(target[0], f"{name} was skipped, as told above; with library_optional=1 that is no failure")


def write_skip(target: list[File], source: list[File], env: Env) -> None:
    """Action where the assembler cannot pack and the library is optional: the reason is the target."""
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        say(env[REASON])
        publish({Path(target[0].abspath): (env[REASON] + "\n").encode()})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter of the library. A refused one is deleted first: an older file would pass for what was asked for."""
    with reading_stops_cleanly():
        sign(env, "TILELIB_LIBRARY_SIG")
        guard.distrust(target)
        return target, source


def declare_packed(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter of a library that can be packed."""
    with reading_stops_cleanly():
        if len(source) != 3:
            what = f"`Tilelib` makes `{target[0]}` of three files, and it is given {len(source)}"
            raise BuildScriptError.of(what, "x.iface.tilebc, x.impl.tilebc and x.ltoir, in this order")
    guard.keep_until_replaced(target)
    return declare_outputs(target, source, env)


def declare_skip(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter of the skip, which keeps its reason for whoever takes it for the library."""
    with reading_stops_cleanly():
        guard.distrust(target)
        target[0].Tag(REASON, env[REASON])
        return target, source


def refuse_consumer(dependency: Any, target: Any, previous: Any, repository: Any = None) -> bool:
    """The decider of a skip: SCons asks it only when it looks at something that depends on the skipped library."""
    library = dependency.name.removesuffix(".skipped")
    raise BuildError(target, f"{target} needs {library}, which was skipped:\n{dependency.GetTag(REASON)}")


def command(target: list[File], source: list[File], env: Env) -> str:
    """The tileiras invocation, with the paths of the artifacts."""
    from tilewright.library.static import pack_command

    if launched := launched_line(_step, target, source, env):
        return launched
    interface, implementation, code, library = (Path(str(node)) for node in (*source[:3], target[0]))
    return shlex.join(pack_command(session_of(env).toolkit, interface, implementation, code, library))


def builder() -> BuilderBase:
    """The builder of this file."""
    action = Action(pack_library, command, varlist=SIGNED)
    return Builder(action=action, emitter=declare_packed, suffix=SUFFIX)


def refused() -> BuilderBase:
    """The library's builder where the assembler cannot pack: its step says why and fails."""
    return Builder(action=Action(refuse_library, None, varlist=(REASON,)), emitter=declare_outputs, suffix=SUFFIX)


def skipped() -> BuilderBase:
    """The builder of what stands in for an optional library that the assembler cannot pack."""
    return Builder(action=Action(write_skip, None, varlist=(REASON,)), emitter=declare_skip, suffix=SKIPPED)
