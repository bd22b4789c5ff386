"""The C compiler of this machine, for the one thing that needs one: a provider is a program of the host."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.library.errors import LibraryError
from tilewright.library.process import private_folder, run_tool
from tilewright.problem import Problem

COMPILERS = ("cc", "gcc", "clang")
OPTIONS = (
    "-std=c11", "-O2", "-g0", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared",
    "-Wl,--build-id=none", "-s",
)  # fmt: skip
"""The bytes depend on sources and compiler: no debug information, no build id, relative names only."""


@dataclass(frozen=True, slots=True)
class CCompiler:
    """The words of its command line, and where it was found ("PATH")."""

    command: tuple[str, ...]
    origin: str


def find_c_compiler(environ: Mapping[str, str]) -> CCompiler:
    """`CC`, else the first of cc, gcc, clang on `PATH`, else the zig wheel; LibraryError without any."""
    if chosen := environ.get("CC"):
        return CCompiler(tuple(shlex.split(chosen)), "CC")
    for name in COMPILERS:
        if found := shutil.which(name, path=environ.get("PATH")):
            return CCompiler((found,), "PATH")
    if importlib.util.find_spec("ziglang"):
        return CCompiler((sys.executable, "-m", "ziglang", "cc"), "the ziglang wheel")
    what = "no C compiler was found, and the provider form of a tile library is a shared object of this machine"
    raise LibraryError(
        [Problem(what, hint="pip install ziglang\nor install gcc or clang, or name one: CC=/path/to/cc")]
    )


def compile_shared(
    sources: Mapping[str, bytes], output: str, *, compiler: CCompiler, environ: Mapping[str, str]
) -> bytes:
    """The shared object made of the `.c` files among `sources` (file name to content; headers lie beside them).

    LibraryError with the compiler's whole text when it refuses.
    """
    units = sorted(name for name in sources if Path(name).suffix == ".c")
    with private_folder(sources) as folder:
        run_tool(
            [*compiler.command, *OPTIONS, "-o", output, *units, "-ldl"],
            folder=folder,
            environment={**environ, "LC_ALL": "C"},
            fault=f"the C compiler could not make `{output}`",
            identity=f"{shlex.join(compiler.command)} (from {compiler.origin})",
        )
        try:
            return (folder / output).read_bytes()
        except OSError as failure:
            what = f"the C compiler reported success but wrote no `{output}` ({failure.strerror})"
            raise LibraryError([Problem(what)]) from failure
