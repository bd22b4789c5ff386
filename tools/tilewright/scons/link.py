"""`NvJitLink`: LTOIR, PTX, cubins or fatbins linked to the cubin of one architecture, or to PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from SCons.Action import Action
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, run_mode
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.session import message, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, step_of

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit

CUBIN, PTX = ".cubin", ".ptx"
ARCH = "TILELIB_LINK_ARCH"
OPTIONS = "TILELIB_LINK_OPTIONS"
SIGNED = ("TILELIB_LINK_SIG", ARCH, OPTIONS)


def link_device_code(target: list[File], source: list[File], env: Env) -> None:
    """Action: in a worker, which nvJitLink ends when it does not know the architecture."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    options = {"arch": str(env[ARCH]), "options": _options(env)}
    return step_of("link", target, source, env, signed=SIGNED, options=options)


def make_linked(step: Step, here: Surroundings) -> Made:
    """A cubin, or PTX, of all sources."""
    from tilewright.device.nvjitlink import link

    data = here.workers.run(
        link,
        [(name, here.path(name).read_bytes()) for name in step.sources],
        arch=step.options["arch"],
        nvjitlink=str(here.toolkit.require("nvjitlink").path),
        options=tuple(step.options["options"]),
        ptx=step.targets[0].endswith(PTX),
    )
    return Made((data,))


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
    """nvJitLink ends its process for an architecture that it does not know; it knows those of its NVRTC.

    Those that the assembler lists are among them, and it has been asked already: NVRTC is loaded for others only.
    """
    from tilewright.toolchain.architectures import normalize, nvrtc_architectures

    name = normalize(arch)
    if name in toolkit.architectures():
        return
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
    action = Action(link_device_code, message("Linking {target}", _command, _step), varlist=SIGNED)
    return Builder(action=action, emitter=declare_outputs, suffix=CUBIN)
