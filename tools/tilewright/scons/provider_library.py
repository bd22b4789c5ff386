"""A library in the provider form: device code compiled into a shared object, packed. Spec: The provider form."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from SCons.Action import Action, ActionBase
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, scanner
from tilewright.scons.errors import reading_stops_cleanly
from tilewright.scons.ltoir import ARCH, device_module, module_options
from tilewright.scons.session import launched_line, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, step_of
from tilewright.scons.tilelib import SUFFIX

SIGNED = {
    ".cu": ("TILELIB_PROVIDER_SIG", "TILELIB_LTOIR_SIG", ARCH, "TILELIB_INCLUDE_PATH"),
    ".ll": ("TILELIB_PROVIDER_SIG",),
}
"""What is signed, by the suffix of the device code."""


def pack_provider(target: list[File], source: list[File], env: Env) -> None:
    """Action: of device code, description and LTOIR. The interface is a source too: it was compared before."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    device = source[0]
    signed = SIGNED[os.path.splitext(device.name)[1]]
    options = {"arch": str(env[ARCH]), **module_options(device, env)}
    read = [scanner.origin_of(device), *scanner.headers_of(device, env)]
    return step_of("provider", target, source, env, signed=signed, options=options, more=read)


def make_library(step: Step, here: Surroundings) -> Made:
    """A library in the provider form."""
    from tilewright.exports.description import parse_description
    from tilewright.exports.sizes import without_sizes
    from tilewright.library.messages import written_to
    from tilewright.library.provider.c_compiler import find_c_compiler
    from tilewright.library.provider.making import make_provider, provider_code

    device, description, ltoir, _ = step.sources
    toolkit = here.toolkit
    compiler = find_c_compiler(os.environ)
    exports = parse_description(here.path(description).read_bytes(), description)
    module, data = device_module(device, step, here), here.path(ltoir).read_bytes()
    code = provider_code(module, exports, data, arch=step.options["arch"], toolkit=toolkit, workers=here.workers)
    made = make_provider(without_sizes(exports), code, toolkit=toolkit, compiler=compiler)
    return Made((made,), written_to(Path(step.targets[0])))


def check_abi(requested: str) -> None:
    """LibraryError with the specified explanation unless the build says which ABI it wants."""
    from tilewright.library.provider.abi import choose_abi

    choose_abi(requested, os.environ)


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter of the library."""
    with reading_stops_cleanly():
        sign(env, *SIGNED[os.path.splitext(source[0].name)[1]])
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, source


def _command(target: list[File], source: list[File], env: Env) -> str:
    from tilewright.library.provider.making import provider_pack_command, shared_object_name

    if launched := launched_line(_step, target, source, env):
        return launched
    assembler = session_of(env).toolkit.assembler
    interface, library = Path(str(source[3])), Path(str(target[0]))
    shared = library.with_name(shared_object_name(library.name.removesuffix(SUFFIX)))
    return shlex.join(
        provider_pack_command(str(assembler.path) if assembler else "tileiras", interface, shared, library)
    )


def builder() -> BuilderBase:
    """The builder of this file."""
    actions = {suffix: Action(pack_provider, _command, varlist=signed) for suffix, signed in SIGNED.items()}

    def action_of(source: list[File], target: list[File], env: Env, for_signature: bool) -> ActionBase:
        return actions[os.path.splitext(source[0].name)[1]]

    return Builder(generator=action_of, emitter=declare_outputs, suffix=SUFFIX)
