"""The folder of links: the real nvcc and tileiras work in it, and many processes may make it at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from cuda.bindings import nvrtc

from needed_tools import needs
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.roots import in_root
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit, resolve
from toolchain.conftest import MakeRoot, assembler_script, script


@pytest.fixture
def wheels(toolkit: Toolkit, tmp_path: Path) -> Toolkit:
    """The real toolkit with a cache of its own."""
    return replace(toolkit, cache=tmp_path / "cache")


def snapshot(root: Path) -> dict[str, str]:
    links = {str(path.relative_to(root)): os.readlink(path) for path in root.rglob("*") if path.is_symlink()}
    assert links
    return links


def test_a_complete_toolkit_needs_no_shadow(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvjitlink="13.5.20")
    (root / "lib64/libnvJitLink.so").symlink_to("libnvJitLink.so.13")
    assert shadow_root(resolve(environ, among=[in_root(root, "CUDA_HOME")])) == root


def test_a_missing_link_makes_a_shadow_with_everything(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.20", nvjitlink="13.5.20")
    (root / "bin/nvcc.profile").touch()
    (root / "nvvm").mkdir()
    shadow = shadow_root(resolve(environ, among=[in_root(root, "CUDA_HOME")]))
    assert shadow.is_relative_to(environ["TILEWRIGHT_CACHE"])
    for name in ("lib64/libnvJitLink.so", "lib/libnvJitLink.so"):
        assert (shadow / name).resolve() == root / "lib64/libnvJitLink.so.13.5.20"
    for name in ("bin/nvcc", "bin/nvcc.profile", "bin/tileiras", "nvvm"):
        assert (shadow / name).resolve() == root / name
    assert sorted(path.name for path in root.rglob("libnvJitLink*")) == [
        "libnvJitLink.so.13", "libnvJitLink.so.13.5.20",
    ]  # fmt: skip


def test_the_shadow_holds_the_assembler_that_was_resolved(
    environ: Mapping[str, str], make_root: MakeRoot, tmp_path: Path
) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.20", nvjitlink="13.5.20")
    (root / "lib64/libnvJitLink.so").symlink_to("libnvJitLink.so.13")
    other = script(tmp_path / "other/tileiras", assembler_script("13.5"))
    fixed = {**environ, "CUTILE_TILEIRAS_PATH": str(other)}
    shadow = shadow_root(resolve(fixed, among=[in_root(root, "CUDA_HOME")]))
    assert (shadow / "bin/tileiras").resolve() == other
    assert (shadow / "bin/nvcc").resolve() == root / "bin/nvcc"


def test_the_environment_leads_to_the_shadow(wheels: Toolkit) -> None:
    shadow = shadow_root(wheels)
    led = tool_environment(wheels, {"PATH": "/usr/bin", "CUDA_ROOT": "/old", "KEPT": "1"})
    assert led == {
        "PATH": f"{shadow}/bin:/usr/bin",
        "CUDA_HOME": str(shadow),
        "CUDA_PATH": str(shadow),
        "CUDA_ROOT": str(shadow),
        "KEPT": "1",
    }


def test_the_shadow_is_made_once_and_repaired(wheels: Toolkit) -> None:
    shadow = shadow_root(wheels)
    whole = snapshot(shadow)
    assert shadow_root(wheels) == shadow
    (shadow / "lib64/libnvJitLink.so").unlink()
    (shadow / "bin/nvcc").unlink()
    (shadow / "bin/nvcc").symlink_to("/nowhere")
    shutil.rmtree(shadow / "lib64")
    assert shadow_root(wheels) == shadow
    assert snapshot(shadow) == whole


def test_other_files_make_another_shadow(environ: Mapping[str, str], make_root: MakeRoot) -> None:
    root = make_root("cuda", assembler="13.5", nvjitlink="13.5.20")
    first = shadow_root(resolve(environ, among=[in_root(root, "CUDA_HOME")]))
    (root / "bin/newtool").touch()
    assert shadow_root(resolve(environ, among=[in_root(root, "CUDA_HOME")])) != first


def test_many_processes_make_one_shadow(wheels: Toolkit) -> None:
    program = (
        "import os\nfrom dataclasses import replace\nfrom pathlib import Path\n"
        "from tilewright.toolchain.toolkit import resolve\nfrom tilewright.toolchain.shadow import shadow_root\n"
        "toolkit = resolve(os.environ)\nos.read(0, 1)\n"
        f"print(shadow_root(replace(toolkit, cache=Path({str(wheels.cache)!r}))))\n"
    )
    package = Path(__file__).parents[2] / "tools"
    environment = {**os.environ, "PYTHONPATH": str(package)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    said = {process.communicate()[0].strip() for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    (root,) = said
    assert [path.name for path in (wheels.cache / "toolkits").iterdir()] == [Path(root).name]
    assert all(Path(root, name).exists() for name in snapshot(Path(root)))


def test_a_cache_that_cannot_be_written_is_replaced(wheels: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    private = wheels.cache
    monkeypatch.setattr("tilewright.toolchain.shadow.private_temporary_folder", lambda: private)
    assert shadow_root(replace(wheels, cache=Path("/proc/nothing"))).is_relative_to(private)
    monkeypatch.setattr("tilewright.toolchain.shadow.private_temporary_folder", lambda: Path("/dev/null/tmp"))
    with pytest.raises(ToolchainError) as caught:
        shadow_root(replace(wheels, cache=Path("/proc/nothing")))
    assert str(caught.value) == (
        "error: cannot make a folder of links to the CUDA toolkit in /proc/nothing: No such file or directory\n"
        "  hint: set TILEWRIGHT_CACHE to a folder that can be written to"
    )


GOLDEN = Path(__file__).parents[1] / "golden"

DEVICE_CODE = """
extern "C" __device__ void relu_impl(float x, float* relu_out) { *relu_out = x < 0.0f ? 0.0f : x; }
"""

CALLER = """
#include <cuda_tile.h>
using vector = cuda::tiles::tile<float, cuda::tiles::shape<128>>;

__experimental_foreign_decl__ __experimental_foreign_name__("relu")
    vector rectified(vector input, [[cutile::experimental_inout]] vector slot);

[[cutile::hint(0, num_worker_warps_per_cta = 4)]] __tile_global__ void rectify(float* source, float* destination) {
    using size = cuda::tiles::shape<128>;
    auto from = cuda::tiles::partition_view { cuda::tiles::tensor_span { source, size {} }, size {} };
    auto to = cuda::tiles::partition_view { cuda::tiles::tensor_span { destination, size {} }, size {} };
    to.store(rectified(from.load(0), to.load(0)), 0);
}
"""


def ltoir(source: str) -> bytes:
    """LTOIR for sm_120 of CUDA C++, made by NVRTC."""

    def value(result: tuple[object, ...]) -> object:
        assert result[0] == nvrtc.nvrtcResult.NVRTC_SUCCESS, result
        return result[1] if len(result) > 1 else None

    program = value(nvrtc.nvrtcCreateProgram(source.encode(), b"device.cu", 0, [], []))
    value(nvrtc.nvrtcCompileProgram(program, 2, [b"-dlto", b"-arch=sm_120"]))
    code = bytearray(value(nvrtc.nvrtcGetLTOIRSize(program)))  # type: ignore[call-overload]
    value(nvrtc.nvrtcGetLTOIR(program, code))
    return bytes(code)


@pytest.fixture(scope="module")
def workplace(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a packed library and a Tile C++ caller."""
    folder: Path = tmp_path_factory.mktemp("caller")
    (folder / "relu.ltoir").write_bytes(ltoir(DEVICE_CODE))
    (folder / "caller.cu").write_text(CALLER)
    command = [
        toolkit.require("assembler").path,
        "--preview-create-tile-lib",
        f"--preview-interface={GOLDEN / 'relu.iface.tilebc'}",
        f"--preview-implementation={GOLDEN / 'relu.impl.tilebc'}",
        "--preview-implementation=relu.ltoir",
        "--output-file=relu.tilelib",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def compile_caller(nvcc: Path, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [nvcc, "--enable-tile", "--tile-preview", "simt", "-Xtileiras=-l=relu.tilelib", "-std=c++20",
               "-arch=sm_120", "--tilecubin", "-o", "caller.cubin", "caller.cu"]  # fmt: skip
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


needs_host_compiler = needs("g++")


@needs_host_compiler
def test_nvcc_in_the_shadow_links_a_library(wheels: Toolkit, workplace: Path) -> None:
    done = compile_caller(shadow_root(wheels) / "bin/nvcc", workplace, tool_environment(wheels, os.environ))
    assert (done.returncode, done.stderr) == (0, "")
    listing = [wheels.require("nvdisasm").path, "-c", "caller.cubin"]
    code = subprocess.run(listing, cwd=workplace, capture_output=True, text=True, check=True).stdout
    assert "FMNMX" in code or "FSETP" in code
    assert "CALL" not in code


@needs_host_compiler
def test_nvcc_outside_the_shadow_lacks_the_library(wheels: Toolkit, workplace: Path) -> None:
    if shadow_root(wheels) == wheels.root:
        pytest.skip("this toolkit is complete")
    done = compile_caller(wheels.require("nvcc").path, workplace, os.environ)
    assert done.returncode != 0
    assert "failed to load the dynamic nvJitLink library" in done.stderr


@needs_host_compiler
def test_the_assembler_links_a_library_in_the_environment(wheels: Toolkit, workplace: Path) -> None:
    environment = tool_environment(wheels, os.environ)
    front = ["nvcc", "--enable-tile", "--tile-preview", "simt", "-std=c++20", "-arch=sm_120", "--tilebc",
             "-o", "caller.tilebc", "caller.cu"]  # fmt: skip
    subprocess.run(front, cwd=workplace, env=environment, check=True)
    back = [wheels.require("assembler").path, "--preview=simt", "-l", "relu.tilelib", "--gpu-name", "sm_120",
            "-o", "direct.cubin", "caller.tilebc"]  # fmt: skip
    subprocess.run(back, cwd=workplace, env=environment, check=True)
    assert (workplace / "direct.cubin").stat().st_size > 0
