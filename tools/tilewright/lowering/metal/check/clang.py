"""Finding a clang that can read MSL through the shim, and run its sanitizers."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.lowering.errors import LoweringError
from tilewright.problem import Problem

OLDEST = 16
"""The first clang with the address spaces, vectors and small floats the shim needs (14 lacks them)."""
NAMES = ("clang++-19", "clang++-20", "clang++-21", "clang++-18", "clang++-17", "clang++-16", "clang++")
VARIABLE = "TILEWRIGHT_CLANG"
INSTALL = "apt-get install clang-19 libclang-rt-19-dev llvm-19"


@dataclass(frozen=True, slots=True)
class Clang:
    """The compiler, its major version, and the symbolizer beside it (None: sanitizer reports have no lines)."""

    path: Path
    version: int
    symbolizer: Path | None


def find_clang(environ: Mapping[str, str]) -> Clang:
    """The compiler that `TILEWRIGHT_CLANG` names, else the first on PATH; LoweringError says what is missing."""
    wanted = environ.get(VARIABLE)
    passed_over: list[str] = []
    for name in (wanted,) if wanted else NAMES:
        found = shutil.which(name, path=environ.get("PATH"))
        if found is None:
            continue
        version = version_of(found)
        if version >= OLDEST:
            beside = shutil.which(f"llvm-symbolizer-{version}") or shutil.which("llvm-symbolizer")
            return Clang(Path(found), version, Path(beside) if beside else None)
        passed_over.append(f"{found} is clang {version}")
    seen = f"; {', '.join(passed_over)}" if passed_over else ""
    if wanted and not passed_over:
        seen = f"; {VARIABLE} names {wanted}, which is no program"
    what = f"the MSL check needs clang {OLDEST} or newer{seen}"
    raise LoweringError([Problem(what, hint=INSTALL, rule="no-clang")])


def version_of(program: str) -> int:
    """The major version that `--version` prints; 0 for something else."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, cwd="/")
    found = re.search(r"clang version (\d+)", done.stdout)
    return int(found[1]) if found else 0
