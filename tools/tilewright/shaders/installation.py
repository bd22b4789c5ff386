"""Which files belong to Python, to an installed package or to the system: what user code reads of them is no input.

The releases of installed packages are signed instead.  A package installed as editable lies elsewhere, and an edit of
it gives it no other release: its files count as those of the user.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])
"""This package, an editable checkout too: its sources are signed themselves."""

PACKAGE_FOLDERS = ("site-packages", "dist-packages")
"""The names of folders on the search path that hold installed packages, those of a base environment or a user too."""

SYSTEM = (
    *("/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys"),
    *("/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"),
    *("/System", "/Library", "/private/etc"),
)
NOT_SYSTEM = ("/dev/shm",)
"""Folders in those of `SYSTEM` where users keep files."""


def is_installed(name: str) -> bool:
    """Whether the absolute path, as it is written or as it is, lies in Python's installation or in a package."""
    return name.startswith(installed()) or os.path.realpath(name).startswith(installed())


def is_of_system(name: str) -> bool:
    """Whether the absolute path, as it is written or as it is, lies where the system keeps its own files."""
    return any(each.startswith(_SYSTEM) and not each.startswith(_NOT_SYSTEM) for each in (name, os.path.realpath(name)))


def prefixes(folders: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Absolute folders with a slash at the end, as they are written and as they are."""
    names = [os.path.abspath(folder) for folder in folders]
    return tuple(dict.fromkeys(os.path.join(name, "") for name in (*names, *map(os.path.realpath, names))))


@functools.cache
def installed() -> tuple[str, ...]:
    """`prefixes` of the folders of Python and of the packages installed for it; they stay as at the first call."""
    base = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    kinds = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [PACKAGE, *(sysconfig.get_path(kind) for kind in kinds)]
    folders += [sysconfig.get_path(kind, vars=base) for kind in ("stdlib", "platstdlib")]
    folders += [entry for entry in sys.path if os.path.basename(entry) in PACKAGE_FOLDERS]
    folders += [os.path.join(top, name) for top in (sys.prefix, sys.base_prefix) for name in ("etc", "share")]
    return prefixes(folders)


_SYSTEM, _NOT_SYSTEM = (tuple(os.path.join(folder, "") for folder in each) for each in (SYSTEM, NOT_SYSTEM))
