"""`TileBindings`: what callers of a library include or import, for every tile language, from its description alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.problem import Place, Problem
from tilewright.scons import guard, run_mode, unavailable
from tilewright.scons.artifacts import PerArchitecture, TileLibrary
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.session import message
from tilewright.scons.signatures import sign
from tilewright.scons.tile_exports import DESCRIPTION

SENTENCE = "Writes the declarations and wrappers that callers of a library include or import; follows no body edit."
SIGNED = ("TILELIB_BINDINGS_SIG",)


def tile_bindings(env: Env, library: Any = ()) -> PerArchitecture | list[File]:
    """The method of the environment, for a `TileLibrary` or for descriptions by file."""
    with reading_stops_cleanly():
        sign(env, *SIGNED)
        make = builder()
        if not isinstance(library, TileLibrary):
            return [node for description in files_given(env, library) for node in make(env, source=[description])]
        parts = {arch: make(env, source=[artifacts.exports]) for arch, artifacts in library.parts.items()}
        for artifacts in library.parts.values():
            if why := unavailable.reason_of(artifacts.exports):
                made = [node for nodes in parts.values() for node in nodes]
                unavailable.leave_out(env, made, "", why)  # the line of the library says enough
                break
        return PerArchitecture(library.name, parts, list(library))


def write_bindings(target: list[File], source: list[File], env: Env) -> None:
    """Action: every language in one step."""
    from tilewright.callers.bindings.every_language import bindings_of
    from tilewright.exports.description import parse_description
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        exports = parse_description(Path(source[0].abspath).read_bytes(), str(source[0]))
        if exports.library != _library(source[0]):
            what = f"the description is of the library `{exports.library}`"
            hint = f"name it {exports.library}{DESCRIPTION}"
            raise BuildScriptError([Problem(what, Place(str(source[0])), hint)])
        files = bindings_of(exports)
        publish({Path(node.abspath): files[node.name] for node in target})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the files stand beside the description."""
    from tilewright.callers.bindings.every_language import file_names

    with reading_stops_cleanly():
        description = source[0]
        if not description.name.endswith(DESCRIPTION):
            hint = f"give a TileLibrary, or a file that ends with {DESCRIPTION}"
            raise BuildScriptError.of(f"`{description}` is no description of a tile library", hint)
        targets = [description.dir.File(name) for name in file_names(_library(description))]
        if not run_mode.cleaning():
            guard.distrust(targets)
            guard.keep_until_replaced(targets)
        return targets, source


def builder() -> BuilderBase:
    """The builder behind the method."""
    action = Action(write_bindings, message("Writing bindings of {source}"), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, single_source=True, suffix="_tile.h", src_suffix=DESCRIPTION)


def _library(description: File) -> str:
    return description.name.removesuffix(DESCRIPTION)
