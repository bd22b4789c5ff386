"""The mock caller as device code: its LTOIR, and the two-input link that a consumed library gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tilewright.callers.error import CallerError
from tilewright.callers.foreign import library_problems
from tilewright.callers.mock.caller import CALLER_SOURCE, caller_files, launch_of
from tilewright.device.ltoir_header import read_header
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvjitlink import link
from tilewright.device.nvrtc import compile_cuda
from tilewright.device.nvvm import compile_ir
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.problem import Place, Problem
from tilewright.toolchain.architectures import number_of
from tilewright.toolchain.toolkit import Toolkit

LINK_OPTIONS = ("-fma=0",)
"""A multiply-add is contracted by the link, not before; a host never contracts."""

Inputs = Sequence[tuple[str, bytes]]


def caller_ltoir(exports: ExportSet, *, arch: str, toolkit: Toolkit, workers: Workers) -> tuple[tuple[str, bytes], ...]:
    """(name, LTOIR) of the caller of sized exports: by NVRTC, and by libNVVM for what C++ cannot express.

    Either is left out when no export needs it.  Raises `DeviceError`, `ToolchainError`.
    """
    target = f"compute_{number_of(arch)}"
    made: list[tuple[str, bytes]] = []
    for name, text in caller_files(exports).items():
        if name == CALLER_SOURCE:
            nvrtc = str(toolkit.require("nvrtc").path)
            compilation = workers.run(compile_cuda, DeviceModule("cuda", text, name), target, nvrtc, toolkit.include)
            made.append((name, compilation.ltoir))
        else:
            nvvm, libdevice = (str(toolkit.require(part).path) for part in ("nvvm", "libdevice"))
            made.append((name, workers.run(compile_ir, DeviceModule("nvvm", text, name), target, nvvm, libdevice)))
    return tuple(made)


def link_mock(
    ltoir: bytes, callers: Inputs, *, name: str, arch: str, toolkit: Toolkit, workers: Workers, ptx: bool = False
) -> bytes:
    """Library and caller linked for `arch` (`sm_90`) as a consumed library is, but with `-fma=0`: cubin, or PTX text.

    `name` is the library's file for messages.  `CallerError` for LTOIR of a newer architecture, `DeviceError` with
    the linker's log.
    """
    ensure_not_newer(ltoir, name=name, arch=arch)
    nvjitlink = str(toolkit.require("nvjitlink").path)
    inputs = [(name, ltoir), *callers]
    return workers.run(link, inputs, arch=arch, nvjitlink=nvjitlink, options=LINK_OPTIONS, ptx=ptx)


def ensure_not_newer(ltoir: bytes, *, name: str, arch: str) -> None:
    """Refuses LTOIR that was made for a newer architecture than `arch`, or that is no LTOIR."""
    try:
        made_for = read_header(ltoir).arch
    except DeviceError as error:
        raise CallerError(replace(problem, where=Place(name)) for problem in error.problems) from None
    target = int(number_of(arch).rstrip("af"))
    if made_for > target:
        what = f"the device code is made for architecture {made_for}, newer than the target {arch}"
        raise CallerError(
            [Problem(what, Place(name), hint=f"build the library for {arch}, or verify for sm_{made_for}")]
        )


def linked_cubin(
    exports: ExportSet, ltoir: bytes, *, name: str, arch: str, toolkit: Toolkit, workers: Workers
) -> bytes:
    """The cubin of the mock caller and the library, after a check that the library has every export's ABI.

    Raises `CallerError` naming export and parameter, `DeviceError` of the compilers.
    """
    ensure_not_newer(ltoir, name=name, arch=arch)
    if problems := library_problems(ltoir, exports, name=name, arch=arch, toolkit=toolkit, workers=workers):
        raise CallerError(problems)
    callers = caller_ltoir(exports, arch=arch, toolkit=toolkit, workers=workers)
    cubin = link_mock(ltoir, callers, name=name, arch=arch, toolkit=toolkit, workers=workers)
    lost = [export for export in exports.exports if launch_of(export).kernel.encode() not in cubin]
    if lost:
        raise CallerError(
            Problem(f"`{export.name}`: the linker dropped the caller's kernel", Place(name)) for export in lost
        )
    return cubin
