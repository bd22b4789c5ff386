"""`Ltoir`: device code for one architecture, checked against its exports. Spec: Building the library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Action import Action, ActionBase
from SCons.Builder import Builder, BuilderBase
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import guard, scanner
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.progress import say
from tilewright.scons.session import message, session_of
from tilewright.scons.signatures import sign
from tilewright.scons.step import Made, Step, Surroundings, carry_out, folders_for, step_of
from tilewright.scons.tile_exports import DESCRIPTION
from tilewright.sources.languages import language_of_device_code

if TYPE_CHECKING:
    from tilewright.device.module import DeviceModule

SUFFIX = ".ltoir"
ARCH = "TILELIB_LTOIR_ARCH"
SIGNED = {".cu": ("TILELIB_LTOIR_SIG", ARCH, "TILELIB_INCLUDE_PATH"), ".ll": ("TILELIB_NVVM_SIG", ARCH)}
"""What is signed, by the suffix of the device code."""


def compile_device_code(target: list[File], source: list[File], env: Env) -> None:
    """Action: headers are taken in under logical names, so that no folder of this machine gets into the bytes."""
    carry_out(_step(target, source, env), target, env)


def _step(target: list[File], source: list[File], env: Env) -> Step:
    signed = SIGNED[os.path.splitext(source[0].name)[1]]
    options = {"arch": str(env[ARCH]), **module_options(source[0], env)}
    return step_of("ltoir", target, source, env, signed=signed, options=options, more=[scanner.origin_of(source[0])])


def module_options(device: File, env: Env) -> dict[str, Any]:
    """What `device_module` needs to know of device code, as options of a step."""
    return {"origin": scanner.logical(scanner.origin_of(device), env), "include": folders_for(env)}


def make_code(step: Step, here: Surroundings) -> Made:
    """LTOIR of device code and its description."""
    from tilewright.device.ltoir import make_ltoir
    from tilewright.exports.architectures import unserved
    from tilewright.exports.description import parse_description
    from tilewright.exports.rules import ExportError

    device, description = step.sources
    arch, toolkit = step.options["arch"], here.toolkit
    module = device_module(device, step, here)
    exports = parse_description(here.path(description).read_bytes(), description)
    if problems := unserved(exports, arch, known=toolkit.architectures()):
        raise ExportError(problems)
    return Made((make_ltoir(module, exports, arch=arch, toolkit=toolkit, workers=here.workers, warn=say),))


def device_module(device: str, step: Step, here: Surroundings) -> DeviceModule:
    """What the device compiler gets, from the device code that `TileExports` wrote."""
    from tilewright.sources.front_end import translation_unit
    from tilewright.sources.text import read_text

    path = here.path(device)
    return translation_unit(
        language_of_device_code(path, device),
        read_text(path, device),
        origin=step.options["origin"],
        root=here.root,
        include_path=here.paths(step.options["include"]),
        toolkit_include=here.toolkit.include,
    )


def declare_outputs(target: list[File], source: list[File], env: Env) -> tuple[list[File], list[File]]:
    """Emitter: the description beside the device code is a source too."""
    with reading_stops_cleanly():
        device = source[0]
        if len(source) == 1:
            source = [device, device.dir.File(device.name.split(".")[0] + DESCRIPTION)]
        if not env.get(ARCH):
            hint = f'env.Ltoir(target, source, {ARCH}="sm_120")'
            raise BuildScriptError.of(f"`Ltoir` needs an architecture for `{target[0]}`", hint)
        language_of_device_code(Path(device.abspath), str(device))
        sign(env, *SIGNED[os.path.splitext(device.name)[1]])
        guard.distrust(target)
        guard.keep_until_replaced(target)
        return target, source


def _command(target: list[File], source: list[File], env: Env) -> str:
    from tilewright.device.nvrtc import OPTIONS

    toolkit = session_of(env).toolkit
    number = str(env[ARCH]).rpartition("_")[2]
    if source[0].name.endswith(".ll"):
        return f"{toolkit.nvvm.path if toolkit.nvvm else 'libnvvm'} -gen-lto -arch=compute_{number} {source[0]}"
    compiler = toolkit.nvrtc.path if toolkit.nvrtc else "nvrtc"
    folders = (f"-I{folder}" for folder in toolkit.include)
    return " ".join([str(compiler), *OPTIONS, f"-arch=compute_{number}", *folders, str(source[0])])


def builder() -> BuilderBase:
    """The builder of this file."""
    line = message("Compiling device code of {target}", _command, _step)
    actions = {suffix: Action(compile_device_code, line, varlist=signed) for suffix, signed in SIGNED.items()}

    def action_of(source: list[File], target: list[File], env: Env, for_signature: bool) -> ActionBase:
        return actions[os.path.splitext(source[0].name)[1]]

    return Builder(
        generator=action_of,
        emitter=declare_outputs,
        source_scanner=scanner.include_scanner(),
        suffix=SUFFIX,
    )
