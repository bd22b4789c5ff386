"""`NvJitLink`: LTOIR, PTX, cubins or fatbins linked to the cubin of one architecture, or to PTX."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, run_mode
from tilewright.scons.errors import BuildScriptError, one_clean_error, reading_stops_cleanly
from tilewright.scons.pool import workers
from tilewright.scons.session import message, session_of
from tilewright.scons.signatures import sign

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit

CUBIN, PTX = ".cubin", ".ptx"
ARCH = "TILELIB_LINK_ARCH"
OPTIONS = "TILELIB_LINK_OPTIONS"
SIGNED = ("TILELIB_LINK_SIG", ARCH, OPTIONS)


def link_device_code(target: list[File], source: list[File], env: Env) -> None:
    """Action: in a worker, which nvJitLink ends when it does not know the architecture."""
    from tilewright.device.nvjitlink import link
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        data = workers().run(
            link,
            [(str(node), Path(node.abspath).read_bytes()) for node in source],
            arch=str(env[ARCH]),
            nvjitlink=str(session_of(env).toolkit.require("nvjitlink").path),
            options=_options(env),
            ptx=target[0].name.endswith(PTX),
        )
        publish({Path(target[0].abspath): data})


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the target's suffix says what is made."""
    with reading_stops_cleanly():
        if not target[0].name.endswith((CUBIN, PTX)):
            raise BuildScriptError.of(
                f"`{target[0]}` is no name for linked device code", f"end it with {CUBIN} or {PTX}"
            )
        if not env.get(ARCH):
            hint = f'env.NvJitLink(target, sources, {ARCH}="sm_120")'
            raise BuildScriptError.of(f"`NvJitLink` needs an architecture for `{target[0]}`", hint)
        sign(env, "TILELIB_LINK_SIG")
        guard.distrust(target)
        guard.keep_until_replaced(target)
        if not run_mode.cleaning():
            _check_architecture(str(env[ARCH]), session_of(env).toolkit)
        return target, source


def _check_architecture(arch: str, toolkit: Toolkit) -> None:
    """nvJitLink ends its process for an architecture that it does not know; it knows those of its NVRTC."""
    from tilewright.toolchain.architectures import normalize, nvrtc_architectures

    name = normalize(arch)
    choices = [f"sm_{number}" for number in nvrtc_architectures(toolkit)] if toolkit.nvrtc else [name]
    if name not in choices:
        raise BuildScriptError.of(f"{ARCH}={arch} is not known to nvJitLink", f"choose from: {', '.join(choices)}")


def _options(env: Env) -> tuple[str, ...]:
    options = env.get(OPTIONS, ())
    return tuple(options.split() if isinstance(options, str) else map(str, options))


def _command(target: list[File], source: list[File], env: Env) -> str:
    linker = session_of(env).toolkit.nvjitlink
    kind = ["-ptx"] if target[0].name.endswith(PTX) else []
    words = [str(linker.path) if linker else "nvjitlink", f"-arch={env[ARCH]}", "-lto", *kind, *_options(env)]
    return " ".join([*words, *map(str, source)])


def builder() -> BuilderBase:
    """The builder of this file."""
    action = Action(link_device_code, message("Linking {target}", _command), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, suffix=CUBIN)
