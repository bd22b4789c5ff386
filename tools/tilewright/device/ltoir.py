"""Device code to LTOIR, checked against its exports: the one entry of this room for builders."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.device import probe, signatures
from tilewright.device.ltoir_header import LtoirHeader, read_header
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvrtc import compile_cuda
from tilewright.device.nvvm import compile_ir
from tilewright.device.sizes import with_sizes
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.exports.sizes import linked
from tilewright.problem import Place, Problem
from tilewright.toolchain.architectures import number_of
from tilewright.toolchain.toolkit import Toolkit

__all__ = ["DeviceError", "LtoirHeader", "check_ltoir", "make_ltoir", "read_header"]


def make_ltoir(
    module: DeviceModule,
    exports: ExportSet,
    *,
    arch: str,
    toolkit: Toolkit,
    workers: Workers,
    warn: Callable[[str], None] | None = None,
) -> bytes:
    """LTOIR of the module for `arch` (`sm_120`, `compute_75`), in which every export has its symbol and its ABI.

    An export with listed sizes has a symbol for each of them.  CUDA C++ is checked after compiling, by a probe link;
    NVVM IR before, from its text.  The bytes depend on the module, the architecture's number and suffix, and the
    toolkit's compilers, on no folder.  `warn` gets the compiler's warnings.  Raises `DeviceError` with all problems,
    `ToolchainError` for a missing component, or for what is no architecture.
    """
    number = number_of(arch)
    callable_exports = linked(exports)
    symbols = tuple(export.symbol for export in callable_exports.exports)
    nvvm, libdevice = (str(toolkit.require(name).path) for name in ("nvvm", "libdevice"))
    if module.language == "cuda":
        nvrtc, nvjitlink = (str(toolkit.require(name).path) for name in ("nvrtc", "nvjitlink"))
        module = with_sizes(module, exports)
        made = workers.run(compile_cuda, module, f"compute_{number}", nvrtc, toolkit.include)
        if made.warnings and warn is not None:
            warn(made.warnings)
        ltoir = made.ltoir
        _check_header(ltoir, number, module.name)
        if not symbols:
            return ltoir
        ptx = workers.run(probe.probe, ltoir, module, symbols, number, (nvvm, libdevice, nvjitlink))
        probe.ensure(ptx, callable_exports, module.name)
        return ltoir
    bodies = tuple(export.symbol for export in exports.exports)
    signatures.ensure(workers.run(signatures.read_functions, module, bodies), exports, module.name)
    if callable_exports != exports:
        module = with_sizes(module, exports)
        signatures.ensure(workers.run(signatures.read_functions, module, symbols), callable_exports, module.name)
    ltoir = workers.run(compile_ir, module, f"compute_{number}", nvvm, libdevice)
    _check_header(ltoir, number, module.name)
    return ltoir


def check_ltoir(ltoir: bytes, exports: ExportSet, *, arch: str, name: str, toolkit: Toolkit, workers: Workers) -> None:
    """Raises `DeviceError` unless LTOIR that another tool made, called `name`, is for `arch` and defines every export.

    An export with listed sizes has a symbol for each of them.  `ToolchainError` as `make_ltoir`.
    """
    number = number_of(arch)
    nvvm, libdevice, nvjitlink = (str(toolkit.require(one).path) for one in ("nvvm", "libdevice", "nvjitlink"))
    if (found := read_header(ltoir).arch) != int(number.rstrip("af")):
        raise DeviceError([Problem(f"this is LTOIR for architecture {found}, and {number} was asked for", Place(name))])
    callable_exports = linked(exports)
    if symbols := tuple(export.symbol for export in callable_exports.exports):
        module = DeviceModule("nvvm", "", name)
        ptx = workers.run(probe.probe, ltoir, module, symbols, number, (nvvm, libdevice, nvjitlink))
        probe.ensure(ptx, callable_exports, name)


def _check_header(ltoir: bytes, number: str, source: str) -> None:
    """What a compiler gave must say the architecture that was asked for."""
    header = read_header(ltoir)
    if header.arch != int(number.rstrip("af")):
        what = f"the compiler made LTOIR for architecture {header.arch} when asked for {number}"
        raise DeviceError([Problem(what, Place(source), hint="the toolkit is inconsistent: run `tilewright doctor`")])
