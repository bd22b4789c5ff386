"""NVVM IR text to LTOIR by libNVVM.

There are two readers inside: architectures below `compute_100` get the one of LLVM 7, which knows typed pointers only;
text with typed pointers passes both.  libNVVM can crash on bad input, so all of this runs in workers.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.native import entry, opened, sized, strings, text_of
from tilewright.problem import Place, Problem

OLD_DIALECT = 7
"""LLVM version of the reader for architectures below `compute_100`."""

MODULE_NAME = "tilewright"
"""Goes into the LTOIR, so it is the same for every module."""

_POSITION = re.compile(rf"^{MODULE_NAME} \((?P<line>\d+), (?P<column>\d+)\): (?P<text>.*)$", re.MULTILINE)
_OPAQUE_POINTER = re.compile(r"\bptr\b")


def compile_ir(module: DeviceModule, arch: str, nvvm: str, libdevice: str) -> bytes:
    """NVVM IR to LTOIR by libNVVM. To be run by a worker, as libNVVM can crash.

    `arch` is `compute_120`; `nvvm` and `libdevice` are paths.  The verifier is on, libdevice is added where needed.
    Raises `DeviceError` with the log.
    """
    text = module.text.encode()
    device_library = Path(libdevice).read_bytes()
    options = ["-gen-lto", f"-arch={arch}"]
    program = ctypes.c_void_p()
    _checked(entry(nvvm, "nvvmCreateProgram")(ctypes.byref(program)), program, module, arch, nvvm)
    try:
        name, size = MODULE_NAME.encode(), ctypes.c_size_t(len(text))
        _checked(entry(nvvm, "nvvmAddModuleToProgram")(program, text, size, name), program, module, arch, nvvm)
        library_size = ctypes.c_size_t(len(device_library))
        add_lazily = entry(nvvm, "nvvmLazyAddModuleToProgram")
        _checked(add_lazily(program, device_library, library_size, b"libdevice"), program, module, arch, nvvm)
        for step in ("nvvmVerifyProgram", "nvvmCompileProgram"):
            _checked(entry(nvvm, step)(program, len(options), strings(options)), program, module, arch, nvvm)
        return sized(entry(nvvm, "nvvmGetCompiledResultSize"), entry(nvvm, "nvvmGetCompiledResult"), program)
    finally:
        entry(nvvm, "nvvmDestroyProgram")(ctypes.byref(program))


def llvm_version(arch: str, nvvm: str) -> int:
    """LLVM version of libNVVM's reader for `compute_NN`: `OLD_DIALECT`, or 22 from `compute_100` on.

    `DeviceError` for an architecture that this libNVVM does not compile for.
    """
    major = ctypes.c_int()
    if entry(nvvm, "nvvmLLVMVersion")(arch.encode(), ctypes.byref(major)):
        raise DeviceError(
            [
                Problem(
                    f"libNVVM does not compile for `{arch}`", hint="architectures look like compute_75 or compute_120"
                )
            ]
        )
    return major.value


def _checked(status: int, program: ctypes.c_void_p, module: DeviceModule, arch: str, nvvm: str) -> None:
    if not status:
        return
    log = text_of(sized(entry(nvvm, "nvvmGetProgramLogSize"), entry(nvvm, "nvvmGetProgramLog"), program))
    position = _POSITION.search(log)
    what = position["text"] if position else (log.splitlines() or [_status_text(nvvm, status)])[0]
    lines = module.text.splitlines()
    if position and int(position["line"]) <= len(lines):
        log += f"\nline {position['line']} of the IR: {lines[int(position['line']) - 1].strip()}"
    hint = ""
    if "expected type" in log and _OPAQUE_POINTER.search(module.text):
        hint = (
            f"`{arch}` is read by LLVM {OLD_DIALECT}, which has no `ptr`: write typed pointers, `float*`, good for all"
        )
    raise DeviceError([Problem(f"libNVVM refuses the IR: {what}", Place(module.name), hint=hint, detail=log)])


def _status_text(nvvm: str, status: int) -> str:
    describe = opened(nvvm).nvvmGetErrorString
    describe.restype = ctypes.c_char_p
    return text_of(describe(status) or b"unknown status")
