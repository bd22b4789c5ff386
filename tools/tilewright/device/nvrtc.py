"""CUDA C++ to LTOIR by NVRTC, the same bytes in every folder and process.

NVRTC writes its working directory, the program name and the names of user headers into LTOIR; so it runs in `/`, and
names are the logical ones of `DeviceModule`.  Folders of the toolkit given by `-I` leave no trace.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.device.module import LOGICAL_ROOT, NAMESPACE, WRAPPERS, DeviceError, DeviceModule
from tilewright.device.native import entry, opened, sized, strings, text_of
from tilewright.device.standard_headers import missing_standard_headers
from tilewright.problem import Place, Problem

OPTIONS = ("-dlto", "-std=c++20", "-diag-suppress=1097")
"""1097 is the warning about an attribute it does not know: ours."""

_ERROR = re.compile(r"^(?:(?P<file>.+?)\((?P<line>\d+)\)|At end of source): (?:\w+ )?error(?: #[\w-]+)?: (?P<text>.*)$")
_OPENED = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): note .*to match this ")
_INDENT = 2
_HINTS = (
    (
        re.compile(r'cannot open source file "(c?math)(\.h)?"'),
        "device code needs no header for sqrtf and the like; remove the line, or include <cuda/std/cmath>",
    ),
    (
        re.compile(r'cannot open source file "[a-z_]+(\.h)?"'),
        "the compiler for device code has no host headers: remove the line, or include <cuda/std/...>",
    ),
    (re.compile(r'identifier "(__half|half|__ushort_as_half)" is undefined'), "#include <cuda_fp16.h>"),
)
"""What helps against the compiler errors that are met most."""


@dataclass(frozen=True, slots=True)
class CudaCompilation:
    """LTOIR and the compiler's warnings, empty when there are none."""

    ltoir: bytes
    warnings: str


def compile_cuda(module: DeviceModule, arch: str, nvrtc: str, include: tuple[Path, ...]) -> CudaCompilation:
    """CUDA C++ to LTOIR by NVRTC. To be run by a worker, whose working directory is `/`.

    `arch` is `sm_120` or `compute_120`, `nvrtc` the path of the library, `include` the toolkit's folders.  Raises
    `DeviceError` with one problem an error of the compiler, placed in the user's own file.
    """
    if os.getcwd() != "/":
        raise RuntimeError("compile_cuda is a job for a worker: the working directory would get into the LTOIR")
    headers = module.headers + missing_standard_headers((module.text, *(text for _, text in module.headers)), include)
    options = [*OPTIONS, f"-arch={arch}", *(f"-I{folder}" for folder in include)]
    program = ctypes.c_void_p()
    status = entry(nvrtc, "nvrtcCreateProgram")(
        ctypes.byref(program),
        module.text.encode(),
        module.name.encode(),
        len(headers),
        strings([text for _, text in headers]),
        strings([name for name, _ in headers]),
    )
    if status:
        raise DeviceError([Problem(f"NVRTC takes no program: {_status_text(nvrtc, status)}", Place(module.name))])
    try:
        status = entry(nvrtc, "nvrtcCompileProgram")(program, len(options), strings(options))
        log = text_of(sized(entry(nvrtc, "nvrtcGetProgramLogSize"), entry(nvrtc, "nvrtcGetProgramLog"), program))
        log = log.replace(LOGICAL_ROOT, "")
        if status:
            raise DeviceError(_problems(log, module.name) or [_unplaced(log, module.name, _status_text(nvrtc, status))])
        ltoir = sized(entry(nvrtc, "nvrtcGetLTOIRSize"), entry(nvrtc, "nvrtcGetLTOIR"), program)
        return CudaCompilation(ltoir, log)
    finally:
        entry(nvrtc, "nvrtcDestroyProgram")(ctypes.byref(program))


def version(nvrtc: str) -> tuple[int, int]:
    """Version of the NVRTC at that path. Worth asking: it proves which library a process really has."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    entry(nvrtc, "nvrtcVersion")(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


def _status_text(nvrtc: str, status: int) -> str:
    describe = opened(nvrtc).nvrtcGetErrorString
    describe.restype = ctypes.c_char_p
    return text_of(describe(status) or b"unknown status")


def _problems(log: str, source: str) -> list[Problem]:
    """One problem an error, in the compiler's order; the one that is shown last carries the whole log."""
    problems = [
        Problem(what, where, hint=next((hint for pattern, hint in _HINTS if pattern.search(what)), ""))
        for what, where in _errors(log, source)
    ]
    if problems:
        last = max(problems, key=lambda problem: problem.where or Place(source))
        problems[problems.index(last)] = replace(last, detail=log)
    return problems


def _errors(log: str, source: str) -> Iterator[tuple[str, Place]]:
    """Text and place of each; where something is never closed, those of the text after it are no errors of the user."""
    lines = log.splitlines()
    found = [(number, error) for number, line in enumerate(lines) if (error := _ERROR.match(line))]
    unclosed = any(not error["file"] for _, error in found)
    for number, error in found:
        excerpt = lines[number + 1 : number + 2]
        if not error["file"]:
            yield error["text"], _opened(lines[number + 1 :]) or Place(source)
        elif not (unclosed and (error["file"].endswith(WRAPPERS) or NAMESPACE in "".join(excerpt))):
            yield error["text"], Place(error["file"], int(error["line"]), _column(lines[number + 1 :]))


def _opened(after: list[str]) -> Place | None:
    """The place of what is never closed, from the note after the error; None without one."""
    opened = _OPENED.match(after[0]) if after else None
    return Place(opened["file"], int(opened["line"]), _column(after[1:])) if opened else None


def _column(after: list[str]) -> int:
    """1-based column from the caret line below an error, 0 when the next lines hold none.

    The compiler prints the source line and its caret indented by two; a tab counts as one column.
    """
    for line in after:
        if line.strip() == "^":
            return line.index("^") - _INDENT + 1
        if not line or _ERROR.match(line):
            break
    return 0


def _unplaced(log: str, source: str, status: str) -> Problem:
    said = [line for line in log.splitlines() if "error" in line]
    what = said[0].removeprefix("nvrtc: error: ") if said else status
    return Problem(f"NVRTC: {what}", Place(source), detail=log)
