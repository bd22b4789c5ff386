"""Linking device code by nvJitLink: LTOIR to a cubin or PTX."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tilewright.device import magic
from tilewright.device.module import DeviceError
from tilewright.device.native import entry, sized, strings, text_of
from tilewright.problem import Problem

INPUT_KINDS = ((magic.LTOIR, 3), (magic.ELF, 1), (magic.FATBIN, 4))
"""First bytes of an input and nvJitLink's number for its kind: LTOIR, cubin, fatbin. Anything else is PTX, 2."""

PTX = 2


def link(
    inputs: Sequence[tuple[str, bytes]], *, arch: str, nvjitlink: str, options: Sequence[str] = (), ptx: bool = False
) -> bytes:
    """Device code linked by nvJitLink. To be run by a worker, which nvJitLink ends for an unknown architecture.

    Takes (name, data) inputs, gives a cubin for `arch` (`sm_120`), or PTX text.  `options` are nvJitLink's, such as
    `-fma=0`; `nvjitlink` is the library's path.  Names occur in messages only.  With `ptx` a missing symbol stays
    `.extern`.  Raises `DeviceError` with the linker's log.
    """
    chosen = [f"-arch={arch}", "-lto", *(["-ptx"] if ptx else []), *options]
    handle = ctypes.c_void_p()
    status = entry(nvjitlink, "nvJitLinkCreate")(ctypes.byref(handle), len(chosen), strings(chosen))
    if status:
        raise DeviceError([_refusal(arch, status, handle, nvjitlink)])
    try:
        for name, data in inputs:
            add = entry(nvjitlink, "nvJitLinkAddData")
            if status := add(handle, _kind(data), data, ctypes.c_size_t(len(data)), name.encode()):
                raise DeviceError([_refusal(arch, status, handle, nvjitlink, name)])
        if status := entry(nvjitlink, "nvJitLinkComplete")(handle):
            raise DeviceError([_refusal(arch, status, handle, nvjitlink)])
        product = "Ptx" if ptx else "Cubin"
        size_of = entry(nvjitlink, f"nvJitLinkGetLinked{product}Size")
        data = sized(size_of, entry(nvjitlink, f"nvJitLinkGetLinked{product}"), handle)
        return data.rstrip(b"\0") if ptx else data
    finally:
        entry(nvjitlink, "nvJitLinkDestroy")(ctypes.byref(handle))


def _kind(data: bytes) -> int:
    return next((kind for start, kind in INPUT_KINDS if data.startswith(start)), PTX)


def _refusal(arch: str, status: int, handle: ctypes.c_void_p, nvjitlink: str, name: str = "") -> Problem:
    log, hint = "", "give LTOIR, PTX, cubins and fat binaries made for this architecture or an older one"
    if not name:
        hint = "the log tells which symbol, option or architecture does not fit; `tilewright doctor` lists the last"
    if handle:
        get_log = entry(nvjitlink, "nvJitLinkGetErrorLog")
        log = text_of(sized(entry(nvjitlink, "nvJitLinkGetErrorLogSize"), get_log, handle))
    said = log.splitlines()[0] if log else f"status {status}"
    of = f" of `{name}`" if name else ""
    return Problem(f"nvJitLink cannot link{of} for {arch}: {said}", detail=log, hint=hint)
