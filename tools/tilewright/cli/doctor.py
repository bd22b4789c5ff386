"""`tilewright doctor`: the toolkit that would be used, and what is wrong with it."""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import Option, Verb

if TYPE_CHECKING:
    from tilewright.toolchain.doctor import Row

VERB = Verb(
    "doctor",
    "Shows each part of the CUDA toolkit that would be used, its version and how it was found, and what is wrong.",
    "tilewright doctor --json",
    (
        Option("--json", "print the report as JSON"),
        Option("--nvcc", "print the path of the nvcc to run, and nothing else: for Make, CMake and Meson"),
    ),
)


def run(options: Namespace) -> int:
    """Print the report, 1 when it names a problem; or nvcc's path, ToolchainError when there is none."""
    from tilewright.toolchain.doctor import report
    from tilewright.toolchain.shadow import nvcc_of
    from tilewright.toolchain.toolkit import resolve

    if options.nvcc:
        print(nvcc_of(resolve(os.environ)))
        return 0
    found = report(resolve(os.environ), others=(_rustc(), _clang()))
    print(found.json() if options.json else found.text(), end="")
    return 1 if found.problems else 0


def _rustc() -> Row:
    from tilewright.sources.rust.rustc import NEEDED, dotted, find_rustc
    from tilewright.sources.source import SourceError
    from tilewright.toolchain.doctor import Row

    try:
        found = find_rustc(os.environ, folder=Path.cwd())
    except SourceError:
        return Row("rustc", "rustc", "", "", None, f"compiles Rust sources, {dotted(NEEDED)} or newer")
    origin = "RUSTC" if os.environ.get("RUSTC") else "PATH" if shutil.which("rustc") else "cargo"
    return Row("rustc", "rustc", dotted(found.release), origin, Path(found.path))


def _clang() -> Row:
    from tilewright.lowering.errors import LoweringError
    from tilewright.lowering.metal.check.clang import OLDEST, VARIABLE, find_clang
    from tilewright.toolchain.doctor import Row

    try:
        found = find_clang(os.environ)
    except LoweringError:
        return Row("clang", "clang++", "", "", None, f"runs `check-metal`, {OLDEST} or newer")
    origin = VARIABLE if os.environ.get(VARIABLE) else "PATH"
    return Row("clang", "clang++", str(found.version), origin, found.path)
