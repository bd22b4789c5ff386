"""`TileExports`: the description of a source's exports, and its device code. Spec: Writing an export."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, scanner
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.progress import say
from tilewright.scons.session import include_path, message, original, top_of
from tilewright.scons.signatures import sign
from tilewright.sources.languages import language_of

if TYPE_CHECKING:
    from tilewright.sources.source import Source

DESCRIPTION = ".tileexports.json"
TILE_SHAPES = "TILELIB_TILE_SHAPES"
NIGHTLY_F16 = "TILELIB_NIGHTLY_F16"
SIGNED = {
    ".cu": ("TILELIB_EXPORTS_SIG", "TILELIB_INCLUDE_PATH", TILE_SHAPES),
    ".rs": ("TILELIB_RUST_SIG", TILE_SHAPES, NIGHTLY_F16),
    ".toml": ("TILELIB_RUST_SIG", TILE_SHAPES, NIGHTLY_F16),
}
"""What is signed, by the suffix of the source; a crate is named by its manifest."""


def write_exports(target: list[File], source: list[File], env: Env) -> None:
    """Action: both files from one reading of the source; the device code is the same whatever sizes are listed."""
    from tilewright.exports.description import write_description
    from tilewright.exports.sizes import with_sizes
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        found = _read(source[0], _library(target[0]), env)
        if found.warnings:
            say(found.warnings)
        exports = with_sizes(found.exports, _sizes(env))
        contents = (write_description(exports), found.device_text.encode())
        publish({Path(node.abspath): data for node, data in zip(target, contents, strict=True)})


def tile_shapes(given: str) -> tuple[int, ...]:
    """The sizes that are listed for a build, as they are signed: equal lists are equal however they are written."""
    from tilewright.exports.sizes import parse_sizes

    return parse_sizes(given, option="tile_shapes=")


def _sizes(env: Env) -> tuple[int, ...]:
    given = env.get(TILE_SHAPES, "")
    return tile_shapes(given if isinstance(given, str) else ",".join(map(str, given)))


def _read(source: File, library: str, env: Env) -> Source:
    from tilewright.sources.front_end import read_source

    return read_source(
        Path(source.abspath),
        root=top_of(env),
        library=library,
        include_path=include_path(env),
        nightly_f16=bool(env.get(NIGHTLY_F16)),
    )


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the device code stands beside the description and remembers the user's own file."""
    with reading_stops_cleanly():
        description = target[0]
        if not description.name.endswith(DESCRIPTION):
            raise BuildScriptError.of(f"`{description}` is no name for a description", f"end it with {DESCRIPTION}")
        origin = original(source[0])
        language = language_of(Path(origin.abspath), str(origin))
        _sizes(env)
        sign(env, *SIGNED[os.path.splitext(origin.name)[1]])
        device = description.dir.File(_library(description) + language.device_suffix)
        device.Tag(scanner.ORIGIN, origin)
        guard.distrust([description, device])
        guard.keep_until_replaced([description, device])
        return [description, device], [origin]


def builder() -> BuilderBase:
    """The builder of this file."""
    line = message("Reading tile exports of {source}")
    return Builder(
        action={suffix: Action(write_exports, line, varlist=signed) for suffix, signed in SIGNED.items()},
        emitter=declare_outputs,
        source_scanner=scanner.include_scanner(),
        single_source=True,
        suffix=DESCRIPTION,
    )


def _library(description: File) -> str:
    return description.name.removesuffix(DESCRIPTION)
