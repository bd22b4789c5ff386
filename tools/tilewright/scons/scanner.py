"""The include scanner of `.cu`, `.cuh` and `.device.cu`: which of the user's headers a step reads.

Includes are looked for beside the user's own file, never beside the copy in a build folder.  A header that another
step of the build makes counts before it is there.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Environment import Base as Env
from SCons.Errors import UserError
from SCons.Node.FS import File
from SCons.Scanner import Scanner, ScannerBase

from tilewright.scons.session import include_path, original, top_of

if TYPE_CHECKING:
    from tilewright.sources.cuda.directives import Include

ORIGIN = "tilelib_origin"
SUFFIXES = (".cu", ".cuh")


def include_scanner() -> ScannerBase:
    """The scanner of `TileExports` and `Ltoir`."""
    return Scanner(function=headers_of, name="tilelib includes", skeys=list(SUFFIXES))


def headers_of(node: File, env: Env, path: Any = ()) -> list[File]:
    """The user's headers that the file includes, directly or not; none for a file that is not there yet."""
    folders = [os.fspath(folder) for folder in include_path(env)]
    found: dict[str, File] = {}
    waiting = [origin_of(node).get_abspath()]
    while waiting:
        file = waiting.pop(0)
        for include in _includes(file):
            header = None if include.computed else _header(include, os.path.dirname(file), folders, env)
            if header is not None and header.get_abspath() not in found:
                found[header.get_abspath()] = header
                waiting.append(header.get_abspath())
    return list(found.values())


def origin_of(node: File) -> File:
    """The user's own file from which a `.device.cu` was made; any other file is its own origin."""
    tagged: File | None = node.GetTag(ORIGIN)
    return tagged if tagged is not None else original(node)


def logical(node: File, env: Env) -> str:
    """A file's name in everything that is written: POSIX, relative to the top folder."""
    return Path(os.path.relpath(node.get_abspath(), top_of(env))).as_posix()


def _header(include: Include, folder: str, folders: Sequence[str], env: Env) -> File | None:
    for candidate in _candidates(include, folder, folders):
        if os.path.isfile(candidate):
            return env.File(candidate)
        declared = _declared(candidate, env)
        if declared is not None:
            return declared
    return None


def _candidates(include: Include, folder: str, folders: Sequence[str]) -> Iterator[str]:
    for place in (folder, *folders) if include.quoted else folders:
        yield os.path.normpath(os.path.join(place, include.name))


def _declared(path: str, env: Env) -> File | None:
    """The file when some step of this build makes it; asking declares nothing."""
    try:
        node: File = env.fs.File(path, create=False)
    except (UserError, TypeError):
        return None
    return node if node.is_derived() else None


def _includes(path: str) -> tuple[Include, ...]:
    try:
        status = os.stat(path)
        return _read_includes(path, status.st_mtime_ns, status.st_size)
    except OSError:
        return ()


@functools.lru_cache(maxsize=8192)
def _read_includes(path: str, _mtime_ns: int, _size: int) -> tuple[Include, ...]:
    from tilewright.sources.cuda.directives import includes

    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        return tuple(includes(file.read()))
