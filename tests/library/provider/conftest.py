"""Providers made by the real C compiler and the real assembler, and the program that plays the assembler."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from library.provider.samples import CUDA, EXPORTS, IR
from needed_tools import needed
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.library.provider.bodies import code_of_ir
from tilewright.library.provider.c_compiler import CCompiler, find_c_compiler
from tilewright.library.provider.making import RUNTIME, make_provider, provider_sources
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit

PLAYER = Path(__file__).with_name("player.c")
ALLOCATIONS = ("malloc", "calloc", "realloc")


@dataclass(frozen=True)
class Compiled:
    """What became of a caller: exit code, everything printed, and the machine code (empty without a cubin)."""

    code: int
    said: str
    machine_code: str

    @property
    def calls(self) -> int:
        """Calls left in the machine code."""
        return len(re.findall(r"\bCALL\b", self.machine_code))


@pytest.fixture(scope="session")
def compiler() -> CCompiler:
    """The machine's C compiler."""
    needed("cc")
    return find_c_compiler(os.environ)


@pytest.fixture(scope="session")
def ltoir_of(toolkit: Toolkit) -> Callable[[ExportSet, str, str], bytes]:
    """LTOIR of CUDA C++ for an architecture."""

    def make(exports: ExportSet, text: str, arch: str) -> bytes:
        with Workers(1) as workers:
            return make_ltoir(
                DeviceModule("cuda", text, "mixed.cu"), exports, arch=arch, toolkit=toolkit, workers=workers
            )

    return make


@pytest.fixture(scope="session")
def providers(
    toolkit: Toolkit,
    compiler: CCompiler,
    ltoir_of: Callable[[ExportSet, str, str], bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> Mapping[str, Path]:
    """The library `mixed` by the language of its bodies."""
    folder = tmp_path_factory.mktemp("providers")
    made = {"ir": IR, "cuda": ltoir_of(EXPORTS, CUDA, "compute_75")}
    for name, code in made.items():
        (folder / f"{name}.tilelib").write_bytes(make_provider(EXPORTS, code, toolkit=toolkit, compiler=compiler))
    return {name: folder / f"{name}.tilelib" for name in made}


@pytest.fixture(scope="session")
def compile_caller(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Compiled]:
    """Compiles Tile C++ text against libraries with the real nvcc and assembler."""
    folder = tmp_path_factory.mktemp("callers")
    root = shadow_root(toolkit)

    def run(text: str, *libraries: Path, arch: str, **variables: str) -> Compiled:
        source, cubin = folder / "caller.cu", folder / "caller.cubin"
        source.write_text(text)
        cubin.unlink(missing_ok=True)
        done = subprocess.run(
            [
                root / "bin/nvcc", "--enable-tile", "--tile-preview", "simt", "-std=c++20", f"-arch={arch}",
                *(f"-Xtileiras=-l={library}" for library in libraries), "--tilecubin", "-o", cubin, source,
            ],
            env={**tool_environment(toolkit, os.environ), **variables},
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        shown = ""
        if cubin.exists():
            tool = toolkit.require("nvdisasm").path
            shown = subprocess.run([tool, "-c", cubin], capture_output=True, text=True, check=True).stdout
        return Compiled(done.returncode, done.stdout + done.stderr, shown)

    return run


@pytest.fixture(scope="session")
def player(compiler: CCompiler, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that loads a provider."""
    return built_player(compiler, tmp_path_factory.mktemp("player"))


@pytest.fixture(scope="session")
def linked_player(compiler: CCompiler, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The program with the provider of `mixed` in it, all of it under a sanitizer."""

    def make(sanitizer: str) -> Path:
        folder = tmp_path_factory.mktemp("linked")
        for name, content in provider_sources("mixed", code_of_ir(EXPORTS, IR), (13, 5)).items():
            (folder / name).write_bytes(content)
        return built_player(compiler, folder, f"-fsanitize={sanitizer}")

    return make


def built_player(compiler: CCompiler, folder: Path, *options: str) -> Path:
    """The player, together with the C files that lie in the folder."""
    units = sorted(path.name for path in folder.glob("*.c"))
    base = [*compiler.command, "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{RUNTIME}", *options]
    failing = [f"-D{name}=failing_{name}" for name in ALLOCATIONS]
    objects = []
    for unit, flags in [(str(PLAYER), ["-DLINKED"] if units else []), *((unit, failing) for unit in units)]:
        objects.append(f"{Path(unit).stem}.o")
        subprocess.run([*base, *flags, "-c", unit, "-o", objects[-1]], cwd=folder, check=True)
    program = folder / "play"
    subprocess.run([*base, *objects, "-o", program, "-ldl", "-lpthread"], cwd=folder, check=True)
    return program
