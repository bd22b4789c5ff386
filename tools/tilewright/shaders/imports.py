"""Which Python files of the project a kernel file imports, without running any."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
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


def _imports(file: Path, folders: Sequence[Path], is_there: Callable[[str], bool]) -> Iterator[Path]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                for alias in node.names:
                    yield from _first(alias.name, (), folders, is_there)
            case ast.ImportFrom(level=0, module=str(module)):
                yield from _first(module, [alias.name for alias in node.names], folders, is_there)
            case ast.ImportFrom(level=level) if level > 0:
                names = [alias.name for alias in node.names]
                yield from _below(file.parents[level - 1], node.module or "", names, is_there)


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
