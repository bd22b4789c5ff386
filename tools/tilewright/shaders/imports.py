"""Which Python files of the project a kernel file imports, without running any."""

from __future__ import annotations

import ast
import functools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


def search_path(file: Path, root: Path) -> tuple[Path, ...]:
    """Where the imports of a kernel file are looked for before the installed packages: its folder, then the top."""
    return tuple(dict.fromkeys((file.parent, root)))


def shown(file: Path, root: Path) -> str:
    """The name of a file in messages: relative to the top folder where it lies below, POSIX."""
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)


def imported_files(file: Path, root: Path, is_there: Callable[[str], bool] = os.path.isfile) -> tuple[Path, ...]:
    """The modules and packages of the project that the file imports, directly or not, sorted; not the file itself.

    `root` is the top folder of the project.  An import counts wherever it stands in a file, in a branch too.
    """
    folders = search_path(file, root)
    found: set[Path] = set()
    pending = [file]
    while pending:
        for module in _imports(pending.pop(), folders, is_there):
            if module not in found and module != file:
                found.add(module)
                pending.append(module)
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class Import:
    """One module that a file imports, `level` folders up from its own (0: by absolute name), and names out of it."""

    level: int
    module: str
    names: tuple[str, ...]


def imports_in(file: str) -> tuple[Import, ...]:
    """What a file imports, wherever it says so; nothing of one that cannot be read. Unchanged, it is read once."""
    try:
        status = os.stat(file)
        return _remembered(file, status.st_mtime_ns, status.st_size)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return ()


@functools.lru_cache(maxsize=1024)
def _remembered(file: str, _mtime_ns: int, _size: int) -> tuple[Import, ...]:
    with open(file, "rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_statements(ast.parse(stream.read())))


def _statements(tree: ast.AST) -> Iterator[Import]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (Import(0, alias.name, ()) for alias in node.names)
            case ast.ImportFrom():
                yield Import(node.level, node.module or "", tuple(alias.name for alias in node.names))


def _imports(file: Path, folders: Sequence[Path], is_there: Callable[[str], bool]) -> Iterator[Path]:
    for each in imports_in(os.fspath(file)):
        if each.level:
            yield from _below(file.parents[each.level - 1], each.module, each.names, is_there)
        else:
            yield from _first(each.module, each.names, folders, is_there)


def _first(
    module: str, names: Sequence[str], folders: Sequence[Path], is_there: Callable[[str], bool]
) -> Iterator[Path]:
    """The files of a module in the first folder that has its first part."""
    for folder in folders:
        if files := list(_below(folder, module, names, is_there)):
            yield from files
            return


def _below(folder: Path, module: str, names: Sequence[str], is_there: Callable[[str], bool]) -> Iterator[Path]:
    """The files that make up `module` below a folder, with the submodules among `names`."""
    for part in filter(None, module.split(".")):
        package, single = folder / part / "__init__.py", folder / f"{part}.py"
        if is_there(str(package)):
            yield package
        elif is_there(str(single)):
            yield single
            return
        folder = folder / part
    for name in names:
        yield from (each for each in (folder / name / "__init__.py", folder / f"{name}.py") if is_there(str(each)))
