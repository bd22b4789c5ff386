"""`TileExports`: the description of a source's exports, and its device code. Spec: Writing an export."""

from __future__ import annotations

import os
from pathlib import Path

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, scanner
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.progress import say
from tilewright.scons.session import message, original
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, folders_for, step_of
from tilewright.sources.languages import language_of

DESCRIPTION = ".tileexports.json"
TILE_SHAPES = "TILELIB_TILE_SHAPES"
NIGHTLY_F16 = "TILELIB_NIGHTLY_F16"
SIGNED = {
    ".cu": ("TILELIB_EXPORTS_SIG", "TILELIB_INCLUDE_PATH", TILE_SHAPES),
    ".rs": ("TILELIB_RUST_SIG", TILE_SHAPES, NIGHTLY_F16),
    ".toml": ("TILELIB_RUST_SIG", TILE_SHAPES, NIGHTLY_F16),
}
"""What is signed, by the suffix of the source; a crate is named by its manifest."""

TOOLCHAIN_FILES = ("rust-toolchain.toml", "rust-toolchain")
"""What rustup reads in the top folder to choose the rustc."""


def write_exports(target: list[File], source: list[File], env: Env) -> None:
    """Action: both files from one reading of the source; the device code is the same whatever sizes are listed."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    """Reading CUDA C++ is no work for a process of its own; compiling Rust is."""
    kind = os.path.splitext(source[0].name)[1]
    rust = kind in scanner.CRATES
    options = {
        "library": _library(target[0]),
        "sizes": _sizes(env),
        "include": folders_for(env),
        "nightly_f16": bool(env.get(NIGHTLY_F16)),
    }
    chosen = [file for name in TOOLCHAIN_FILES if (file := env.fs.File(f"#{name}")).exists()] if rust else []
    signed = SIGNED[kind]
    return step_of("exports", target, source, env, signed=signed, options=options, more=chosen, light=not rust)


def make_exports(step: Step, here: Surroundings) -> Made:
    """The description of a source's exports, and its device code."""
    from tilewright.exports.description import write_description
    from tilewright.exports.sizes import with_sizes
    from tilewright.sources.front_end import read_source

    options = step.options
    found = read_source(
        here.path(step.sources[0]),
        root=here.root,
        library=options["library"],
        include_path=here.paths(options["include"]),
        nightly_f16=options["nightly_f16"],
    )
    if found.warnings:
        say(found.warnings)
    exports = with_sizes(found.exports, tuple(options["sizes"]))
    return Made((write_description(exports), found.device_text.encode()))


def tile_shapes(given: str) -> tuple[int, ...]:
    """The sizes that are listed for a build, as they are signed: equal lists are equal however they are written."""
    from tilewright.exports.sizes import parse_sizes

    return parse_sizes(given, option="tile_shapes=")


def _sizes(env: Env) -> tuple[int, ...]:
    given = env.get(TILE_SHAPES, "")
    return tile_shapes(given if isinstance(given, str) else ",".join(map(str, given)))


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
    line = message("Reading tile exports of {source}", step=_step)
    return Builder(
        action={suffix: Action(write_exports, line, varlist=signed) for suffix, signed in SIGNED.items()},
        emitter=declare_outputs,
        source_scanner=scanner.include_scanner(),
        single_source=True,
        suffix=DESCRIPTION,
    )


def _library(description: File) -> str:
    return description.name.removesuffix(DESCRIPTION)
