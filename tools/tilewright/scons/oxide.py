"""Description and LTOIR of a Rust crate as `cargo oxide` makes them: the same targets. Spec: Building the library."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, scanner
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.ltoir import ARCH
from tilewright.scons.pool import workers
from tilewright.scons.session import message, original, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.tile_exports import DESCRIPTION
from tilewright.scons.variables import Settings
from tilewright.sources.languages import MANIFEST

BACKEND = "oxide"
SIGNED = ("TILELIB_OXIDE_SIG", ARCH)


def check(origin: File, settings: Settings) -> None:
    """BuildScriptError for what `cargo oxide` cannot be asked for: a lone file, the provider form, a list of sizes."""
    if origin.name != MANIFEST:
        what = f"`cargo oxide` builds crates, and `{origin}` is a lone file"
        raise BuildScriptError.of(what, f"give the folder with its {MANIFEST}, or build with rust_backend=stable")
    for name, given in (("provider", settings.provider), ("tile_shapes", settings.tile_shapes)):
        if given:
            what = f"`{name}` needs NVVM IR, and `cargo oxide` gives finished device code"
            raise BuildScriptError.of(what, f"do without `{name}` here, or build with rust_backend=stable")


def adopt_files(target: list[File], source: list[File], env: Env) -> None:
    """Action: both files from one run, checked, the description under the library's name."""
    from tilewright.device.ltoir import check_ltoir
    from tilewright.exports.architectures import unserved
    from tilewright.exports.description import write_description
    from tilewright.exports.rules import ExportError
    from tilewright.library.publish import publish
    from tilewright.sources.rust.oxide import adopt
    from tilewright.toolchain.architectures import number_of

    with one_clean_error(target[0]):
        manifest = original(source[0])
        arch, toolkit = env[ARCH], session_of(env).toolkit
        target_arch = f"sm_{number_of(arch)}"
        made = adopt(Path(manifest.get_abspath()), name=str(manifest), arch=target_arch, environ=os.environ)
        if problems := unserved(made.exports, arch, known=toolkit.architectures()):
            raise ExportError(problems)
        check_ltoir(made.ltoir, made.exports, arch=arch, name=made.name, toolkit=toolkit, workers=workers())
        exports = replace(made.exports, library=target[0].name.removesuffix(DESCRIPTION))
        contents = (write_description(exports), made.ltoir)
        publish({Path(node.abspath): data for node, data in zip(target, contents, strict=True)})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: no cache keeps these, as cargo reads more than the files of the crate."""
    with reading_stops_cleanly():
        sign(env, *SIGNED)
        guard.distrust(target)
        guard.keep_until_replaced(target)
        env.NoCache(target)
        return target, [original(source[0])]


def files_of(node: File, env: Env, path: Any = ()) -> list[File]:
    """The other files of the crate of a manifest."""
    from tilewright.sources.rust.oxide import crate_files

    return [env.fs.File(os.fspath(file)) for file in crate_files(Path(node.get_abspath()))]


def builder() -> BuilderBase:
    """The builder of this file: two targets, the description first."""
    action = Action(adopt_files, message("Running cargo oxide for {source}"), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, source_scanner=scanner.include_scanner(files_of))
