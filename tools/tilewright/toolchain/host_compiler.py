"""The C++ compiler that nvcc calls for everything it compiles, kernels alone included."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from tilewright.problem import Problem
from tilewright.toolchain.answers import ask
from tilewright.toolchain.error import ToolchainError

PROGRAMS = ("gcc", "g++")
"""What nvcc calls on Linux: the one compiles, the other links, and is what brings the C++ part of both."""

_CHOICE = re.compile(r"(?:^|\s)(?:-ccbin|--compiler-bindir)\b")
FLAG_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Variables of the environment with options that nvcc puts before and after those it is given."""


def missing_host_compiler(environ: Mapping[str, str], options: Sequence[str] = ()) -> Problem | None:
    """Why nvcc would find no host compiler; None when it finds one, or `options` name one, which nvcc will check."""
    given = " ".join([*(environ.get(name, "") for name in FLAG_VARIABLES), *options])
    if _CHOICE.search(given):
        return None
    search = environ.get("PATH", os.defpath)
    if named := environ.get("NVCC_CCBIN"):
        if os.path.isdir(named) or shutil.which(named, path=search):
            return None
        what = f"nvcc has no host compiler: NVCC_CCBIN names `{named}`, which is not a program"
        return Problem(what, hint="unset NVCC_CCBIN, or name a gcc or clang")
    absent = [name for name in PROGRAMS if shutil.which(name, path=search) is None]
    if not absent:
        return None
    clang = shutil.which("clang", path=search)
    hint = f"export NVCC_CCBIN={clang}" if clang else "install gcc and g++, for example: apt-get install g++"
    return Problem(f"nvcc has no host compiler: there is no {' and no '.join(absent)} on PATH", hint=hint)


def host_compiler_identity(environ: Mapping[str, str], cache: Path) -> str:
    """The first line that the host compiler says of its version; words when there is none or it does not say."""
    search = environ.get("PATH", os.defpath)
    found = shutil.which(environ.get("NVCC_CCBIN") or PROGRAMS[-1], path=search)
    if found is None:
        return "no host compiler"
    try:
        return ask(Path(found), "--version", cache, environ).partition("\n")[0]
    except ToolchainError:
        return "a host compiler that does not answer"
