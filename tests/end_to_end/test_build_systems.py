"""The larger builds of the examples: each follows edits of the library and of its header, and is cleaned."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from end_to_end.sandbox import TOOLS
from end_to_end.test_packages import ran
from needed_tools import needs
from tilewright.packages.verification import verify_package

EXAMPLE = Path(__file__).parents[2] / "examples/larger_build"
WHEELS = Path(sys.executable).parent

pytestmark = needs("g++")


@dataclass
class Product:
    """A copy of the example with one of its build systems; `out` is the folder of the three results."""

    folder: Path
    out: Path
    commands: tuple[tuple[str, ...], ...]
    clean: tuple[str, ...]
    environ: dict[str, str]
    quiet: str

    def run(self, *command: str) -> str:
        """One command, which must succeed."""
        return ran(*command, **self.environ)

    def build(self) -> set[str]:
        """Builds; the results that are new or were made again."""
        before = self.times()
        for command in self.commands:
            self.run(*command)
        after = self.times()
        assert len(after) == 3
        return {name for name in after if after[name] != before.get(name)}

    def times(self) -> dict[str, int]:
        """When each of the results was made."""
        names = ("clamp.tilelib", "product", "tilelib_clamp-1.0.zip")
        found = (path for name in names for path in self.out.rglob(name) if path.is_file())
        return {path.name: path.stat().st_mtime_ns for path in found if "installed" not in path.parts}

    def result(self, name: str) -> bytes:
        """A result's bytes."""
        (path,) = (path for path in self.out.rglob(name) if path.is_file() and "installed" not in path.parts)
        return path.read_bytes()

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces text in a file of the example."""
        path = self.folder / name
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))


Make = Callable[[str], Product]


@pytest.fixture
def product(tmp_path: Path) -> Make:
    """The example under a build system."""
    folder = tmp_path / "product"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("out", ".sconsign*"))
    broken = tmp_path / "first on PATH/nvcc"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'an nvcc of another toolkit' >&2; exit 1\n")
    broken.chmod(0o755)
    python = sys.executable
    environ = {
        "PYTHONPATH": str(TOOLS),
        "PATH": os.pathsep.join((str(broken.parent), str(WHEELS), os.environ["PATH"])),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def make(system: str) -> Product:
        out = folder / "out"
        match system:
            case "scons":
                build = (python, "-m", "SCons", "-C", str(folder), "-f", "scons/SConstruct", "tilelib_arch=sm_120")
                return Product(folder, out, (build,), (*build, "-c"), environ, "is up to date")
            case "make":
                build = ("make", "-C", str(folder / "make"), f"TILEWRIGHT={python} -m tilewright")
                return Product(folder, folder / "make/out", (build,), (*build, "clean"), environ, "Nothing to be done")
            case "cmake_ninja":
                configure = ("cmake", "-S", str(folder / system), "-B", str(out), "-G", "Ninja")
                configure += (f"-DTILEWRIGHT={python};-m;tilewright",)
                build = ("cmake", "--build", str(out))
                clean = (*build, "--target", "clean")
                ran(*configure, **environ)
                return Product(folder, out, (build,), clean, environ, "no work to do")
            case _:
                option = f"-Dtilewright=['{python}', '-m', 'tilewright']"
                ran("meson", "setup", str(out), str(folder / "meson"), option, **environ)
                build = ("ninja", "-C", str(out))
                return Product(folder, out, (build,), (*build, "clean"), environ, "no work to do")

    return make


ALL = {"clamp.tilelib", "product", "tilelib_clamp-1.0.zip"}


@pytest.mark.parametrize(
    "system",
    [
        "scons",
        pytest.param("make", marks=needs("make")),
        pytest.param("cmake_ninja", marks=needs("cmake")),
        "meson",
    ],
)
def test_a_larger_build_follows_edits(product: Make, system: str) -> None:
    one = product(system)
    assert one.build() == ALL
    assert (
        verify_package(one.result("tilelib_clamp-1.0.zip"), "p.zip").files["licenses/NOTICE"].startswith(b"An example")
    )
    first = {name: one.result(name) for name in ALL}
    assert one.build() == set()
    assert one.quiet in one.run(*one.commands[-1])

    one.edit("clamp.cu", "? x : kHighest", "? x : kHighest + 1.0f")
    assert one.build() == ALL
    second = one.result("clamp.tilelib")
    assert second != first["clamp.tilelib"]
    package = verify_package(one.result("tilelib_clamp-1.0.zip"), "p.zip")
    assert package.files["lib/tilelib/sm_120/clamp.tilelib"] == second
    assert package.manifest.tools.keys() == {"tilewright", "assembler", "nvrtc"}

    one.edit("limits.cuh", "6.0f", "7.0f")
    assert one.build() == ALL
    assert one.result("clamp.tilelib") not in (first["clamp.tilelib"], second)
    assert one.build() == set()

    one.run(*one.clean)
    assert one.times() == {}


def test_the_scons_product_obeys_the_options_of_the_larger_build(product: Make) -> None:
    one = product("scons")
    (build,) = one.commands
    looked = one.run(*build, "-n")
    assert "Compiling device code of out/tiles/sm_120/clamp.ltoir" in looked
    assert not one.out.exists()
    one.run(*build, "-j4", "arch=riscv", f"tilelib_cache={one.folder}/cache", "install")
    installed = {path.name for path in (one.out / "installed").iterdir()}
    assert installed == {"product", "tilelib_clamp-1.0.zip"}
    assert (one.folder / "cache/tilewright-1").is_dir()
    assert "is up to date" in one.run(*build, "arch=riscv", "install")

    other = one.folder.with_name("another checkout")
    shutil.copytree(EXAMPLE, other, ignore=shutil.ignore_patterns("out", ".sconsign*"))
    there = [word.replace(str(one.folder), str(other)) for word in build]
    said = one.run(*there, f"tilelib_cache={one.folder}/cache")
    assert "7 hits, 0 misses" in said
    assert "Compiling" not in said
    assert (other / "out/tiles/sm_120/product").read_bytes() == (one.out / "tiles/sm_120/product").read_bytes()
    assert (other / "out/tiles/sm_120/product").stat().st_mode & 0o111


@needs("make")
def test_make_builds_another_architecture_when_it_is_asked_for_one(product: Make) -> None:
    one = product("make")
    (build,) = one.commands
    for arch in ("sm_120", "sm_90"):
        one.run(*build, f"ARCH={arch}", f"out/{arch}/tilelib_clamp-1.0.zip")
        package = verify_package((one.out / arch / "tilelib_clamp-1.0.zip").read_bytes(), "p.zip")
        assert package.manifest.architectures == [arch]


def test_the_command_packs_what_stands_beside_a_library(product: Make) -> None:
    one = product("make")
    one.run(*one.commands[0], "out/sm_120/tilelib_clamp-1.0.zip")
    package = verify_package(one.result("tilelib_clamp-1.0.zip"), "p.zip")
    assert {
        "include/clamp_tile.h",
        "lib/tilelib/sm_120/clamp_tile.py",
        "share/tilelib/clamp.iface.tilebc",
        "share/tilelib/clamp.tileexports.json",
    } <= package.files.keys()
