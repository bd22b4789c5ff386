"""Packages through SCons: the three archives, the same from any folder, and what others install from them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from end_to_end.test_shows import checkout
from needed_tools import needs
from tilewright import __version__
from tilewright.packages.verification import verify_package
from tilewright.toolchain.shadow import shadow_root
from tilewright.toolchain.toolkit import Toolkit

ROOT = Path(__file__).parents[2]
OUT = "build/packages/examples/tile_caller"
NAMES = ("tilelib_relu-1.0-py3-none-any.whl", "tilelib_relu-1.0.tar.gz", "tilelib_relu-1.0.zip")
SCONSTRUCT = """\
import tilewright.scons

env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "relu.cu")
env.TilePackage("relu", [relu, env.TileBindings(relu), "LICENSE"], version="1.0")
"""
RUST = """\
use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    x.max(0.0)
}
"""
CALLER = """\
#include "relu_tile.h"

namespace ct = cuda::tiles;

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void apply(float* x) {
    auto all = ct::partition_view{ct::tensor_span{x, ct::shape<128>{}}, ct::shape<128>{}};
    all.store(relu::relu(all.load(0), all.load(0)), 0);
}
"""
MEMBERS = {
    "include/relu_tile.h",
    "lib/tilelib/sm_120/relu.tilelib",
    "lib/tilelib/sm_120/relu_tile.py",
    "licenses/LICENSE",
    "share/tilelib/relu.iface.tilebc",
    "share/tilelib/relu.tileexports.json",
    "share/tilelib/rust/relu_tile.rs",
}


def whole(folder: Path) -> Sandbox:
    made = checkout(folder)
    shutil.copy(ROOT / "LICENSE", folder)
    return made


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    """A checkout after `scons package arch=sm_90,sm_120`."""
    one = whole(tmp_path_factory.mktemp("packed") / "one")
    run = one.scons("package", "arch=sm_90,sm_120")
    assert run.code == 0, run
    return one


@pytest.fixture
def small(project: Callable[..., Sandbox], sandbox: Sandbox) -> Sandbox:
    """A project with one package of one library."""
    sandbox.write({"SConstruct": SCONSTRUCT, "LICENSE": "a licence\n"})
    return sandbox


def ran(*command: str | Path, **environ: str) -> str:
    done = subprocess.run(
        list(map(str, command)), env={**os.environ, **environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_alias_makes_the_three_archives_and_they_are_sound(packed: Sandbox) -> None:
    archives = packed.tree(OUT)
    assert tuple(archives) == NAMES
    for name, data in archives.items():
        assert verify_package(data, name).manifest.architectures == ["sm_90", "sm_120"]
    assert packed.scons("package", "arch=sm_90,sm_120").up_to_date()


def test_another_clone_gives_the_same_bytes_under_another_umask(packed: Sandbox, tmp_path: Path) -> None:
    other = whole(tmp_path / "another name, longer" / "two")
    before = os.umask(0o077)
    try:
        run = other.scons("package", "arch=sm_90,sm_120", "-j4")
    finally:
        os.umask(before)
    assert run.code == 0, run
    assert other.tree(OUT) == packed.tree(OUT)


def test_the_wheel_installs_and_its_module_finds_the_libraries(packed: Sandbox, tmp_path: Path) -> None:
    ran(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    outside = getattr(sys, "_base_executable", sys.executable)  # the environment that sconsw makes has no pip
    install = (outside, "-m", "pip", "--python", python, "install", "--no-index", "--disable-pip-version-check")
    ran(*install, packed.folder / OUT / NAMES[0], PYTHONPATH="")
    code = """
from importlib.metadata import entry_points, version
(entry,) = entry_points(group="tilewright.libraries")
found = entry.load()
print(entry.name, version("tilelib-relu"), found.ARCHITECTURES, found.LIBRARIES)
print(found.library("sm_90").read_bytes() == open("@", "rb").read())
print((found.include() / "tilelib_relu_tile.h").is_file())
for wrong in (lambda: found.library("sm_80"), lambda: found.library("sm_90", "x")):
    try:
        wrong()
    except LookupError as error:
        print(error)
"""
    library = packed.folder / "build/sm_90/examples/tile_caller/tilelib_relu.tilelib"
    assert ran(python, "-c", code.replace("@", str(library)), PYTHONPATH="").splitlines() == [
        "tilelib_relu 1.0 ('sm_90', 'sm_120') ('tilelib_relu',)",
        "True",
        "True",
        "tilelib_relu has no libraries for 'sm_80'; it has sm_90, sm_120",
        "tilelib_relu has no library 'x'; it has tilelib_relu",
    ]


@needs("cmake")
@needs("g++")
def test_cmake_builds_a_caller_from_the_unpacked_zip(packed: Sandbox, toolkit: Toolkit, tmp_path: Path) -> None:
    lists = """\
cmake_minimum_required(VERSION 3.20)
project(caller LANGUAGES CXX CUDA)
find_package(tilelib_relu 1.0 REQUIRED)
add_executable(caller caller.cu)
set_target_properties(caller PROPERTIES CUDA_STANDARD 20)
target_link_libraries(caller PRIVATE tilelib_relu::tilelib_relu)
"""
    with zipfile.ZipFile(packed.folder / OUT / NAMES[2]) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(lists)
    shutil.copy(ROOT / "examples/tile_caller/tile_caller.cu", tmp_path / "caller.cu")
    ninja = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    compiler = f"-DCMAKE_CUDA_COMPILER={shadow_root(toolkit)}/bin/nvcc"
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path}/tilelib_relu-1.0"
    configure = ("cmake", "-G", "Ninja", "-S", tmp_path, prefix, compiler)
    wrong = subprocess.run(
        [*map(str, configure), "-B", str(tmp_path / "wrong"), "-DCMAKE_CUDA_ARCHITECTURES=80-real"],
        env={**os.environ, "PATH": ninja},
        capture_output=True,
        text=True,
        check=False,
    )
    said = " ".join(wrong.stderr.split())
    assert wrong.returncode != 0
    assert "no libraries for the architecture 'sm_80'; set TILELIB_ARCH to one of: sm_90, sm_120" in said
    ran(*configure, "-B", tmp_path / "out", "-DCMAKE_CUDA_ARCHITECTURES=120-real", PATH=ninja)
    build = ("cmake", "--build", tmp_path / "out")
    ran(*build, PATH=ninja)
    caller = tmp_path / "out/caller"
    assert caller.stat().st_mode & 0o111
    assert "no work to do" in ran(*build, PATH=ninja)

    library = tmp_path / "tilelib_relu-1.0/lib/tilelib/sm_120/tilelib_relu.tilelib"
    whole = library.read_bytes()
    library.write_bytes(whole)
    assert "Building" not in ran(*build, PATH=ninja), "the same bytes again"
    library.write_bytes(whole + b"\0")
    first = caller.stat().st_mtime_ns
    assert "Building CUDA object" in ran(*build, PATH=ninja)
    assert caller.stat().st_mtime_ns > first
    library.unlink()
    gone = subprocess.run(
        [*map(str, build)], env={**os.environ, "PATH": ninja}, capture_output=True, text=True, check=False
    )
    assert gone.returncode != 0
    assert f"the package is incomplete: there is no {library}" in " ".join((gone.stdout + gone.stderr).split())


@needs("pkg-config")
def test_pkg_config_gives_the_options_of_the_compiler(packed: Sandbox, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed.folder / OUT / NAMES[2]) as archive:
        archive.extractall(tmp_path)
    root = tmp_path / "tilelib_relu-1.0"
    ask = ("pkg-config", "--define-variable=arch=sm_120", "--cflags", "tilelib_relu")
    *options, include, library = ran(*ask, PKG_CONFIG_PATH=str(root / "lib/pkgconfig")).split()
    assert sorted(options) == ["--enable-tile", "--tile-preview=simt", "-std=c++20"]
    assert Path(include.removeprefix("-I")).resolve() == root / "include"
    assert library.startswith("-Xtileiras=-l=")
    assert Path(library.removeprefix("-Xtileiras=-l=")).resolve() == root / "lib/tilelib/sm_120/tilelib_relu.tilelib"
    version = ran("pkg-config", "--modversion", "tilelib_relu", PKG_CONFIG_PATH=str(root / "lib/pkgconfig"))
    assert version == "1.0\n"


def test_a_package_is_made_when_asked_for_follows_edits_and_is_cleaned(small: Sandbox) -> None:
    archive = "build/packages/tilelib_relu-1.0.zip"
    assert small.scons("arch=sm_120").code == 0
    assert not (small.folder / archive).exists()
    asked = small.scons("arch=sm_120", "package")
    assert asked.out.count("Packing build/packages/tilelib_relu-1.0.zip") == 1
    first = verify_package(small.read(archive), archive)
    generated = {path for path in first.files if path.startswith(("lib/cmake", "lib/pkgconfig", "sbom"))}
    assert first.files.keys() - generated == MEMBERS
    small.write({"LICENSE": "another licence\n"})
    assert "Packing" in small.scons("arch=sm_120", "package").out
    assert verify_package(small.read(archive), archive).files["licenses/LICENSE"] == b"another licence\n"
    small.edit("SConstruct", 'version="1.0"', 'version="1.0", license="MIT"')
    assert "Packing" in small.scons("arch=sm_120", archive).out
    assert verify_package(small.read(archive), archive).manifest.licence == "MIT"
    assert small.scons("arch=sm_120", "package").up_to_date()
    assert small.scons("arch=sm_120", "-c", "package").code == 0
    assert not (small.folder / archive).exists()


@needs("rustc")
@needs("g++")
def test_a_package_names_the_tools_that_made_what_is_in_it_and_no_others(small: Sandbox) -> None:
    sconstruct = """\
import tilewright.scons

env = Environment(tools=["default", tilewright.scons.generate])
relu, rust = env.TileLibrary("relu", "relu.cu"), env.TileLibrary("rust", "rust.rs")
caller = env.TileProgram("caller.cubin", "caller.cu", libraries=[relu])
env.TileBindings(relu)
env.TilePackage("cuda", [relu, "LICENSE"], version="1.0")
env.TilePackage("rust", [[rust]], version="1.0")
env.TilePackage("whole", [relu, rust, caller], version="1.0")
"""
    small.write({"SConstruct": sconstruct, "rust.rs": RUST, "caller.cu": CALLER})
    run = small.scons("arch=sm_120", "package")
    assert run.code == 0, run
    tools = {}
    for name in ("cuda", "rust", "whole"):
        archive = f"build/packages/tilelib_{name}-1.0.zip"
        package = verify_package(small.read(archive), archive)
        tools[name] = package.manifest.tools.keys() - {"tilewright", "assembler"}
        bill = json.loads(package.files["sbom.spdx.json"])
        made_by = {row["spdxElementId"] for row in bill["relationships"] if row["relationshipType"] == "BUILD_TOOL_OF"}
        versions = {one["name"]: one["versionInfo"] for one in bill["packages"] if one["SPDXID"] in made_by}
        assert {"tilewright": __version__, **versions} == package.manifest.tools
    rust, program = {"rustc", "llvmlite", "nvvm", "libdevice"}, {"nvcc", "nvjitlink", "nvvm", "host-compiler"}
    assert tools == {"cuda": {"nvrtc"}, "rust": rust, "whole": {"nvrtc"} | rust | program}
    assert package.manifest.tools["rustc"].startswith("rustc 1.")
    assert small.scons("arch=sm_120", "package").up_to_date()


def test_dependencies_on_and_of_a_package_are_kept(small: Sandbox) -> None:
    small.edit("SConstruct", "env.TilePackage", "package = env.TilePackage")
    more = """
env.Depends(package, "date.txt")
env.Command("sent", package, Copy("$TARGET", "$SOURCE"))
env.Install("installed", package)
"""
    small.write({"SConstruct": small.read("SConstruct").decode() + more, "date.txt": "today\n"})
    run = small.scons("arch=sm_120")
    assert run.code == 0, run
    archive = small.read("build/packages/tilelib_relu-1.0.zip")
    assert small.read("sent") == small.read("installed/tilelib_relu-1.0.zip") == archive
    assert small.scons("arch=sm_120").up_to_date()
    small.write({"date.txt": "tomorrow\n"})
    again = small.scons("arch=sm_120").out
    assert "Packing" in again
    assert "Copy(" not in again  # the package kept its bytes


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"relu", [relu', '"re lu", [relu', "SConstruct:5: error: `re lu` cannot name a package"),
        ('version="1.0"', 'version="one"', "SConstruct:5: error: `one` is no version"),
        (
            'version="1.0"',
            'version="1.0", formats="zpi"',
            "`zpi` is no format of a package\n  hint: did you mean `zip`?",
        ),
        (
            '[relu, env.TileBindings(relu), "LICENSE"]',
            '["x.tilelib"]',
            "hint: give it what TileLibrary and TileBindings",
        ),
        (
            '[relu, env.TileBindings(relu), "LICENSE"]',
            "[]",
            "the package `relu` is given nothing to hold\n  hint: give it",
        ),
        (
            '"LICENSE"]',
            "3]",
            "SConstruct:5: error: `3` is given to the package `relu`, and is no file\n  hint: give it",
        ),
        ('"LICENSE"]', "None]", "`None` is given to the package `relu`, and is no file"),
        ('"LICENSE"]', 'Dir("build")]', "`build` is given to the package `relu`, and is no file"),
        ('version="1.0"', 'version="1.0", formats=3', "`3` is no format of a package"),
        ('version="1.0"', 'version="1.0", license="Acme"', "`Acme` is no SPDX licence expression"),
    ],
)
def test_a_wrong_package_is_refused_where_it_stands(small: Sandbox, old: str, new: str, words: str) -> None:
    small.edit("SConstruct", old, new)
    run = small.scons("arch=sm_120", "package", "-Q")
    assert run.code == 2
    assert words in run.err
    assert "Traceback" not in run.err
    assert not (small.folder / "build").exists()


def test_two_nodes_on_one_path_fail_the_package_and_leave_none(small: Sandbox) -> None:
    small.write({"other/LICENSE": "another licence\n"})
    small.edit("SConstruct", '"LICENSE"', '"LICENSE", "other/LICENSE"')
    run = small.scons("arch=sm_120", "package")
    assert run.code == 2
    assert "LICENSE and other/LICENSE are both to be `licenses/LICENSE` of the package, and differ" in run.err
    assert not list(small.folder.rglob("*.zip"))


def test_a_package_without_an_architecture_names_the_choices(small: Sandbox) -> None:
    run = small.scons("package")
    assert run.code == 2
    assert "`arch` is missing" in run.err


def test_a_package_of_a_skipped_library_says_so(small: Sandbox, old_assembler: Path) -> None:
    run = small.scons("arch=sm_120", "library_optional=1", "package", CUTILE_TILEIRAS_PATH=str(old_assembler))
    assert run.code == 2
    assert "tilelib_relu-1.0.zip needs relu.tilelib, which was skipped" in run.err
    default = small.scons("arch=sm_120", "library_optional=1", CUTILE_TILEIRAS_PATH=str(old_assembler))
    assert default.code == 0
