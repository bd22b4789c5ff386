"""CUDA C++ compiled by the machine's own C++ compiler, for the oracle and for the emulated call."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tilewright.callers.error import CallerError
from tilewright.library.process import run_to_end
from tilewright.problem import Place, Problem

SHIM = Path(__file__).with_name("device_names.h")
COMPILERS = ("g++", "clang++", "c++")
OPTIONS = (
    "-x", "c++", "-std=c++20", "-O1", "-w", "-fPIC", "-shared",
    "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-fvisibility=hidden", "-fdiagnostics-color=never",
)  # fmt: skip
"""No multiply-add is contracted, signed integers wrap: what the device code does without being told.

What is not hidden may be shared by all shared objects of a process, of which a worker has many.
"""

TIMEOUT = 300
_LOGICAL_INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*")/tw/', re.MULTILINE)
_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?[Ee]rror: (?P<text>.*)$", re.MULTILINE
)

Units = Mapping[str, str]


def find_compiler(environ: Mapping[str, str]) -> str:
    """The host's C++ compiler: `CXX`, else the first of g++, clang++, c++ on `PATH`. `CallerError` without one."""
    if chosen := environ.get("CXX"):
        return chosen
    for name in COMPILERS:
        if found := shutil.which(name, path=environ.get("PATH")):
            return found
    what = "no C++ compiler was found, and CUDA C++ is compiled for the CPU to get expected values"
    hint = "install g++ or clang++, or name one: CXX=/path/to/g++; or give reference= a Python function"
    raise CallerError([Problem(what, hint=hint)])


def compile_host(
    units: Units, headers: Sequence[tuple[str, str]], *, source: str, compiler: str, include: Sequence[Path]
) -> bytes:
    """A shared object of the translation units (file name to text), each with the names of the device language.

    `headers` are in memory under their logical names, `include` the toolkit's folders, `source` the user's file for
    messages.  `CallerError` with the compiler's errors, placed in the user's own file.
    """
    with tempfile.TemporaryDirectory(prefix="tilewright-host-") as name:
        folder = Path(name)
        for logical, text in headers:
            target = folder / logical.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_relocated(text), encoding="utf-8")
        for unit, text in units.items():
            (folder / unit).write_text(_relocated(text), encoding="utf-8")
        command = [*shlex.split(compiler), *OPTIONS, "-include", str(SHIM), "-I", str(folder)]
        for each in include:
            command += ["-isystem", str(each)]
        command += ["-o", "host.so", *units]
        done = _run(command, folder)
        if done.returncode:
            said = done.stdout.decode("utf-8", "replace").replace(f"{folder}{os.sep}", "")
            raise CallerError(_problems(said, source))
        return (folder / "host.so").read_bytes()


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    try:
        return run_to_end(command, folder=folder, environment={**os.environ, "LC_ALL": "C"}, limit=TIMEOUT)
    except OSError as error:
        raise CallerError([Problem(f"cannot run the C++ compiler {command[0]}: {error.strerror}")]) from None
    except subprocess.TimeoutExpired:
        raise CallerError([Problem(f"the C++ compiler took more than {TIMEOUT} seconds and was stopped")]) from None


def _relocated(text: str) -> str:
    """Headers under their logical names lie in the private folder, which is searched."""
    return _LOGICAL_INCLUDE.sub(r"\1tw/", text)


def _problems(said: str, source: str) -> list[Problem]:
    found = _ERROR.search(said)
    where = Place(found["file"], int(found["line"]), int(found["column"] or 0)) if found else Place(source)
    text = found["text"] if found else "the compiler gave no reason"
    what = f"the device code does not compile for the CPU: {text}"
    hint = "give expected values by reference= (a Python function), or make this part portable C++"
    return [Problem(what, where, hint=hint, detail=said.strip())]


def run_host(library: bytes, entry: str, images: Sequence[bytes], offset: int) -> tuple[str, tuple[bytes, ...]]:
    """Running on the CPU. To be done by a worker, as user code may crash.

    Calls `const char *entry(void *const *tiles)` with the tiles of an export, each of which begins `offset` bytes into
    its image.  Gives what went wrong in words ("" for nothing) and the images afterwards.
    """
    memory = [aligned(image, offset) for image in images]
    tiles = (ctypes.c_void_p * len(memory))(*[ctypes.addressof(buffer) + start + offset for buffer, start in memory])
    function = getattr(_loaded(library), entry)
    function.restype = ctypes.c_char_p
    said: bytes = function(tiles)
    after = tuple(buffer.raw[start : start + len(image)] for (buffer, start), image in zip(memory, images, strict=True))
    return said.decode(errors="replace"), after


def aligned(image: bytes, offset: int) -> tuple[ctypes.Array[ctypes.c_char], int]:
    """A copy of an image in which the tile is aligned to 256 bytes, and where the image begins in it."""
    buffer = ctypes.create_string_buffer(len(image) + 256)
    start = -(ctypes.addressof(buffer) + offset) % 256
    ctypes.memmove(ctypes.addressof(buffer) + start, image, len(image))
    return buffer, start


_libraries: dict[bytes, ctypes.CDLL] = {}


def _loaded(library: bytes) -> ctypes.CDLL:
    """The shared object, loaded once a process; the file is gone as soon as it is mapped."""
    key = hashlib.sha256(library).digest()
    if key not in _libraries:
        handle, path = tempfile.mkstemp(suffix=".so")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(library)
            _libraries[key] = ctypes.CDLL(path)
        finally:
            with suppress(OSError):
                os.unlink(path)
    return _libraries[key]
