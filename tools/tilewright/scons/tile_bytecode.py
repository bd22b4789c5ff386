"""`TileBytecode`: both description modules and their readable form, in one step. Spec: Building the library."""

from __future__ import annotations

from pathlib import Path

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.progress import say
from tilewright.scons.session import message, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.tile_exports import DESCRIPTION

OUTPUTS = (".iface.tilebc", ".impl.tilebc", ".tilelib.mlir")
PROVIDER = "TILELIB_PROVIDER"
SIGNED = ("TILELIB_BYTECODE_SIG", PROVIDER)


def write_bytecode(target: list[File], source: list[File], env: Env) -> None:
    """Action: the exports that have tile sizes, the others are left out and named; all of them for a provider."""
    from tilewright.bytecode.modules import modules_of
    from tilewright.exports.description import parse_description
    from tilewright.library.crosscheck import crosscheck
    from tilewright.library.messages import left_out, written_summary
    from tilewright.library.publish import publish
    from tilewright.library.static import shipped

    with one_clean_error(target[0]):
        exports = parse_description(Path(source[0].abspath).read_bytes(), str(source[0]))
        toolkit = session_of(env).toolkit
        version = toolkit.bytecode_version()
        provider = bool(env.get(PROVIDER))
        described = exports if provider else shipped(exports)
        modules = modules_of(described, version=version)
        not_compared = crosscheck(described, version, toolkit)
        contents = (modules.interface, modules.implementation, modules.text.encode())
        publish({Path(node.abspath): data for node, data in zip(target, contents, strict=True)})
        unlisted = "" if provider else left_out(exports)
        say("\n".join(filter(None, (not_compared, unlisted, written_summary(described, version)))))


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the scheduler, a cache and `-c` know only the files named here."""
    with reading_stops_cleanly():
        interface = target[0]
        if not interface.name.endswith(OUTPUTS[0]):
            raise BuildScriptError.of(f"`{interface}` is no name for an interface module", f"end it with {OUTPUTS[0]}")
        stem = interface.name.removesuffix(OUTPUTS[0])
        sign(env, "TILELIB_BYTECODE_SIG")
        targets = [interface, *(interface.dir.File(stem + suffix) for suffix in OUTPUTS[1:])]
        guard.distrust(targets)
        guard.keep_until_replaced(targets)
        return targets, source


def builder() -> BuilderBase:
    """The builder of this file."""
    action = Action(write_bytecode, message("Writing Tile IR of {source}"), varlist=SIGNED)
    return Builder(
        action=action,
        emitter=declare_outputs,
        single_source=True,
        suffix=OUTPUTS[0],
        src_suffix=DESCRIPTION,
    )
