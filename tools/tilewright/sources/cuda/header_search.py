"""Which file an include directive means, and all that a file includes.

The front end takes these headers in and a build's scanner signs them: one search, so that both mean the same files.
Cheap to import, as every build does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from tilewright.sources.cuda.directives import Include, includes


def find_header(
    include: Include,
    folder: Path,
    include_path: Sequence[Path],
    is_there: Callable[[str], bool] = os.path.isfile,
) -> Path | None:
    """Quoted names are looked for in the folder of the including file first, then all in the include path."""
    for place in (folder, *include_path) if include.quoted else include_path:
        candidate = os.path.join(os.path.abspath(place), include.name)
        if is_there(candidate):
            plain = os.path.normpath(candidate)
            moved = os.path.isfile(candidate) and not (os.path.isfile(plain) and os.path.samefile(plain, candidate))
            return Path(os.path.realpath(candidate) if moved else plain)
    return None


def scan(
    path: Path, include_path: Sequence[Path] = (), is_there: Callable[[str], bool] = os.path.isfile
) -> tuple[Path, ...]:
    """The user's headers that a file includes, directly or not. What is missing or unreadable is passed over.

    `is_there` tells of a path whether it counts as a header; a build counts those that it makes later.
    """
    found: dict[str, Path] = {}
    waiting = [Path(os.path.abspath(path))]
    while waiting:
        file = waiting.pop(0)
        for include in _includes_of_file(file):
            header = None if include.computed else find_header(include, file.parent, include_path, is_there)
            if header is not None and os.path.realpath(header) not in found:
                found[os.path.realpath(header)] = header
                waiting.append(header)
    return tuple(found.values())


def _includes_of_file(path: Path) -> tuple[Include, ...]:
    try:
        status = path.stat()
        return _remembered_includes(str(path), status.st_mtime_ns, status.st_size)
    except OSError:
        return ()


@lru_cache(maxsize=8192)
def _remembered_includes(path: str, _mtime_ns: int, _size: int) -> tuple[Include, ...]:
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
        return tuple(includes(file.read()))
