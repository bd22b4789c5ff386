"""A library in the provider form: device code compiled into a shared object, packed. Spec: The provider form."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from SCons.Action import Action, ActionBase
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard
from tilewright.scons.errors import one_clean_error, reading_stops_cleanly
from tilewright.scons.ltoir import ARCH, device_module
from tilewright.scons.pool import workers
from tilewright.scons.progress import say
from tilewright.scons.session import session_of
from tilewright.scons.signatures import sign
from tilewright.scons.tilelib import SUFFIX

SIGNED = {
    ".cu": ("TILELIB_PROVIDER_SIG", "TILELIB_LTOIR_SIG", ARCH, "TILELIB_INCLUDE_PATH"),
    ".ll": ("TILELIB_PROVIDER_SIG",),
}
"""What is signed, by the suffix of the device code."""


def make_library(target: list[File], source: list[File], env: Env) -> None:
    """Action: of device code, description and LTOIR. The interface is a source too: it was compared before."""
    from tilewright.exports.description import parse_description
    from tilewright.exports.sizes import without_sizes
    from tilewright.library.messages import written_to
    from tilewright.library.provider.c_compiler import find_c_compiler
    from tilewright.library.provider.making import make_provider, provider_code
    from tilewright.library.publish import publish

    with one_clean_error(target[0]):
        toolkit = session_of(env).toolkit
        compiler = find_c_compiler(os.environ)
        description, ltoir = (Path(node.abspath).read_bytes() for node in source[1:3])
        exports = parse_description(description, str(source[1]))
        module = device_module(source[0], env)
        code = provider_code(module, exports, ltoir, arch=env[ARCH], toolkit=toolkit, workers=workers())
        data = make_provider(without_sizes(exports), code, toolkit=toolkit, compiler=compiler)
        publish({Path(target[0].abspath): data})
        say(written_to(Path(str(target[0]))))


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

    assembler = session_of(env).toolkit.assembler
    interface, library = Path(str(source[3])), Path(str(target[0]))
    shared = library.with_name(shared_object_name(library.name.removesuffix(SUFFIX)))
    return shlex.join(
        provider_pack_command(str(assembler.path) if assembler else "tileiras", interface, shared, library)
    )


def builder() -> BuilderBase:
    """The builder of this file."""
    actions = {suffix: Action(make_library, _command, varlist=signed) for suffix, signed in SIGNED.items()}

    def action_of(source: list[File], target: list[File], env: Env, for_signature: bool) -> ActionBase:
        return actions[os.path.splitext(source[0].name)[1]]

    return Builder(generator=action_of, emitter=declare_outputs, suffix=SUFFIX)
