"""Which files, in any folder, the Python functions of the user open while a step runs them: each must be declared.

A step that reads what nothing names would be taken for up to date, and its outputs given to others, when that changes.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.scons.errors import BuildScriptError
from tilewright.shaders.installation import is_installed, is_of_system, prefixes

HIDDEN = "hidden-dependency"
_running = threading.local()


class WatchedReads:
    """What user code of one step reads, `root` being the top folder; steps in other threads are none of its business.

    A file that it begins itself, as one for a while, is no input.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.read: set[str] = set()
        self.begun: set[str] = set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """While the block lasts, what this thread opens is noted."""
        _listen()
        _running.noted = self
        try:
            yield
        finally:
            _running.noted = None

    def watching(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, watched whenever it is called."""

        @functools.wraps(function)
        def watched(*arguments: Any) -> Any:
            with self():
                return function(*arguments)

        return watched

    def refuse_hidden(self, known: Iterable[Path], reader: str, advice: str) -> None:
        """BuildScriptError when `reader` read a file that is neither `known`, installed nor the system's."""
        below = prefixes((self.root,))
        theirs = [Path(name) for name in self.read if name.startswith(below) or not is_of_system(name)]
        if hidden := hidden_reads(theirs, known):
            raise hidden_dependency(hidden, self.root, reader, advice)


def hidden_reads(
    read: Iterable[Path], known: Iterable[Path], folders: Iterable[Path] = (Path("/"),), but: Iterable[Path] = ()
) -> list[Path]:
    """Those of the files below `folders` that are neither `known` nor installed, sorted.

    Python packages are installed, and what lies below one of `but`.
    """
    inputs = {name for path in known for name in (str(path), os.path.realpath(path))}
    below, besides = prefixes(folders), prefixes(but)
    hidden = set()
    for path in map(os.path.normpath, read):
        names = (path, os.path.realpath(path))
        apart = is_installed(path) or any(name.startswith(besides) for name in names)
        if path.startswith(below) and not inputs.intersection(names) and not apart:
            hidden.add(Path(path))
    return sorted(hidden)


def hidden_dependency(hidden: list[Path], root: Path, reader: str, advice: str) -> BuildScriptError:
    """The error for files that a step read unseen; `advice` says how to name the first of them, `{}` being its name."""
    names = [_name(path, root) for path in hidden]
    what = f"it read {', '.join(f'`{name}`' for name in names)}, of which the build knows nothing"
    return BuildScriptError([Problem(what, Place(reader), advice.format(names[0]), HIDDEN)])


def _name(path: Path, root: Path) -> str:
    """Relative to the top folder, with `..` where that is shorter than the absolute path."""
    return min(Path(os.path.relpath(path, root)).as_posix(), str(path), key=len)


@functools.cache
def _listen() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or (noted := getattr(_running, "noted", None)) is None:
        return
    name, mode, flags = arguments
    if not isinstance(name, (str, bytes, os.PathLike)):
        return
    path = os.path.abspath(os.fsdecode(name))
    if set(mode or "") & set("wx") or (mode is None and (flags or 0) & (os.O_TRUNC | os.O_EXCL)):
        noted.begun.add(path)
        return
    if path.endswith(".pyc"):
        with suppress(ValueError):
            path = importlib.util.source_from_cache(path)
    if path not in noted.begun and os.path.isfile(path):
        noted.read.add(path)
