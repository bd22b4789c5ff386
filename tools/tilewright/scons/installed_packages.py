"""The releases of installed packages that the user's Python files import: they can change what a kernel file makes."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable

from tilewright.shaders.imports import imports_in

OURS = "tilewright"
"""Its sources are signed themselves."""

NAMED_ALIKE = {"numpy"}
"""Modules of a distribution of the same name, which need not be looked for: looking through all takes a while."""


def releases_behind(files: Iterable[str]) -> list[str]:
    """`scipy 1.17.0` of each package that any of the files imports, sorted; what the project holds is no package."""
    files = tuple(files)
    own = {_module(file) for file in files}
    imports = (each for file in files for each in imports_in(file) if not each.level)
    names = {each.module.partition(".")[0] for each in imports} - sys.stdlib_module_names - own - {OURS}
    return sorted({release for name in names for release in _releases(name)})


def _module(file: str) -> str:
    """The name by which a file is imported."""
    folder, name = os.path.split(file)
    return os.path.basename(folder) if name == "__init__.py" else os.path.splitext(name)[0]


@functools.cache
def _releases(name: str) -> tuple[str, ...]:
    from importlib.metadata import version

    distributions = [name] if name in NAMED_ALIKE else _distributions().get(name, ())
    return tuple(f"{each} {version(each)}" for each in distributions)


@functools.cache
def _distributions() -> dict[str, list[str]]:
    from importlib.metadata import packages_distributions

    return dict(packages_distributions())
