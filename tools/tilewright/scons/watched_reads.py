"""Which files of the project the user's Python functions open while a step runs them: each must be declared.

A step that reads what nothing names would be taken for up to date, and its outputs given to others, when that changes.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.scons.errors import BuildScriptError
from tilewright.shaders.imports import shown

HIDDEN = "hidden-dependency"
_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_running = threading.local()


class WatchedReads:
    """What user code of one step reads below `root`; steps in other threads are none of its business."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.read: set[str] = set()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """While the block lasts, what this thread opens is noted."""
        _listen()
        _running.noted = self.read
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
        """BuildScriptError when something below the root was read that is not `known`; `reader` did it."""
        if hidden := hidden_reads(map(Path, self.read), known, (self.root,)):
            raise hidden_dependency(hidden, self.root, reader, advice)


def hidden_reads(
    read: Iterable[Path], known: Iterable[Path], folders: Iterable[Path], but: Iterable[Path] = ()
) -> list[Path]:
    """Those of the files below `folders` that are neither `known` nor installed, sorted.

    Python packages are installed, and what lies below one of `but`.
    """
    inputs = {name for path in known for name in (str(path), os.path.realpath(path))}
    below, installed = _prefixes(folders), (*_installed(), *_prefixes(but))
    hidden = set()
    for path in map(os.path.normpath, read):
        names = (path, os.path.realpath(path))
        if path.startswith(below) and not inputs.intersection(names) and not any(map(_under(installed), names)):
            hidden.add(Path(path))
    return sorted(hidden)


def _prefixes(folders: Iterable[Path]) -> tuple[str, ...]:
    """Absolute folders with a slash at the end, as they are written and as they are."""
    names = [os.path.abspath(folder) for folder in folders]
    return tuple(os.path.join(name, "") for name in (*names, *map(os.path.realpath, names)))


def _under(prefixes: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda name: name.startswith(prefixes)


def hidden_dependency(hidden: list[Path], root: Path, reader: str, advice: str) -> BuildScriptError:
    """The error for files that a step read unseen; `advice` says how to name the first of them, `{}` being its name."""
    names = [shown(path, root) for path in hidden]
    what = f"it read {', '.join(f'`{name}`' for name in names)}, of which the build knows nothing"
    return BuildScriptError([Problem(what, Place(reader), advice.format(names[0]), HIDDEN)])


@functools.cache
def _installed() -> tuple[str, ...]:
    folders = (sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib"))
    return (_PACKAGE, *(f"{folder}{os.sep}" for folder in folders))


@functools.cache
def _listen() -> None:
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or (noted := getattr(_running, "noted", None)) is None:
        return
    name, mode = arguments[:2]
    if not isinstance(name, (str, bytes, os.PathLike)) or set(mode or "") & set("wax"):
        return
    path = os.path.abspath(os.fsdecode(name))
    if path.endswith(".pyc"):
        with suppress(ValueError):
            path = importlib.util.source_from_cache(path)
    if os.path.isfile(path):
        noted.add(path)
