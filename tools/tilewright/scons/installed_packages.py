"""The releases of installed packages that the user's Python files import: they can change what a kernel file makes."""

from __future__ import annotations

import ast
import functools
import os
import sys
import warnings
from collections.abc import Iterable, Iterator

OURS = "tilewright"
"""Its sources are signed themselves."""

NAMED_ALIKE = {"numpy"}
"""Modules of a distribution of the same name, which need not be looked for: looking through all takes a while."""


def releases_behind(files: Iterable[str]) -> list[str]:
    """`scipy 1.17.0` of each package that any of the files imports, sorted; what the project holds is no package."""
    files = tuple(files)
    own = {_module(file) for file in files}
    names = {name for file in files for name in _imported(file)} - sys.stdlib_module_names - own - {OURS}
    return sorted({release for name in names for release in _releases(name)})


def _module(file: str) -> str:
    """The name by which a file is imported."""
    folder, name = os.path.split(file)
    return os.path.basename(folder) if name == "__init__.py" else os.path.splitext(name)[0]


def _imported(file: str) -> tuple[str, ...]:
    """The first parts of the modules that a file imports by absolute name; none of one that cannot be read."""
    try:
        status = os.stat(file)
        return _remembered_imports(file, status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


@functools.lru_cache(maxsize=1024)
def _remembered_imports(file: str, _mtime_ns: int, _size: int) -> tuple[str, ...]:
    with open(file, "rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_first_parts(ast.parse(stream.read())))


def _first_parts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name.partition(".")[0] for alias in node.names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield module.partition(".")[0]


@functools.cache
def _releases(name: str) -> tuple[str, ...]:
    from importlib.metadata import version

    distributions = [name] if name in NAMED_ALIKE else _distributions().get(name, ())
    return tuple(f"{each} {version(each)}" for each in distributions)


@functools.cache
def _distributions() -> dict[str, list[str]]:
    from importlib.metadata import packages_distributions

    return dict(packages_distributions())
