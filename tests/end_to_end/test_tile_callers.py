"""A Tile C++ program compiled against the libraries that the example builds; what the assembler made of the calls."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from needed_tools import needs
from tilewright.callers.bindings.every_language import bindings_of
from tilewright.exports.description import read_description
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "examples/tilelib_relu"
CALLER = ROOT / "examples" / "tile_caller" / "tile_caller.cu"
ARCHITECTURES = ("sm_90", "sm_100", "sm_120")


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build folder of the example, for all three architectures of one run."""
    folder = tmp_path_factory.mktemp("example")
    for name in ("SConstruct", "examples"):
        os.symlink(ROOT / name, folder / name)
    targets = [f"build/{arch}/{EXAMPLE}" for arch in ARCHITECTURES]
    command = [sys.executable, "-m", "SCons", f"arch={','.join(ARCHITECTURES)}", *targets]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build"


def run(toolkit: Toolkit, folder: Path, *command: str | Path) -> str:
    """Standard output of a toolkit program; the test fails with all of its text when it does."""
    environment = tool_environment(toolkit, os.environ)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def machine_code(toolkit: Toolkit, cubin: Path) -> str:
    return run(toolkit, cubin.parent, toolkit.require("nvdisasm").path, "-c", cubin)


def write_bindings(description: Path, folder: Path) -> None:
    """The header that the caller includes."""
    for name, content in bindings_of(read_description(description)).items():
        (folder / name).write_bytes(content)


@needs("g++")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_caller_inlines_all_three_functions(arch: str, libraries: Path, toolkit: Toolkit, tmp_path: Path) -> None:
    library = libraries / arch / EXAMPLE / "tilelib_relu.tilelib"
    module, cubin = tmp_path / "caller.tilebc", tmp_path / "caller.cubin"
    shadow = shadow_root(toolkit)
    preview = ["--enable-tile", "--tile-preview", "simt", "-std=c++20", f"-arch={arch}"]
    write_bindings(library.with_suffix(".tileexports.json"), tmp_path)
    run(toolkit, tmp_path, shadow / "bin" / "nvcc", *preview, f"-I{tmp_path}", "--tilebc", "-o", module, CALLER)
    assembler = toolkit.require("assembler").path
    run(toolkit, tmp_path, assembler, "--preview=simt", "-l", library, "--gpu-name", arch, "-o", cubin, module)

    text = machine_code(toolkit, cubin)
    assert re.search(r"\bFMNMX\b", text), "no instruction of relu"
    assert re.search(r"\bFMUL\b", text), "no instruction of scale_in_place"
    assert len(re.findall(r"\bSHFL\.BFLY\b", text)) == 5, "warp_sum has five butterfly steps"
    assert not re.search(r"\bCALL\b", text), "a function was linked but not inlined"


@needs("g++")
def test_the_alarm_works_a_wrong_parameter_leaves_a_call(
    libraries: Path, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control of the test above: a library whose device code takes `double` for `float` shows a CALL."""
    from tilewright.device import nvrtc
    from tilewright.device.module import DeviceModule
    from tilewright.library.static import pack

    wrong = (
        'extern "C" __device__ void relu_impl(double x, float *out) { *out = x > 0.0 ? x : 0.0; }\n'
        'extern "C" __device__ void scale_in_place_impl(float *x, float factor) { *x *= factor; }\n'
        'extern "C" __device__ void warp_sum_impl(float x, float *out) { *out = x; }\n'
    )
    monkeypatch.chdir("/")
    compiler = str(toolkit.require("nvrtc").path)
    ltoir = nvrtc.compile_cuda(DeviceModule("cuda", wrong, "wrong.cu"), "sm_120", compiler, toolkit.include).ltoir
    folder = libraries / "sm_120" / EXAMPLE
    interface, implementation = ((folder / f"tilelib_relu.{kind}.tilebc").read_bytes() for kind in ("iface", "impl"))
    library = tmp_path / "wrong.tilelib"
    library.write_bytes(pack(interface, implementation, ltoir, stem="wrong", toolkit=toolkit))
    cubin = tmp_path / "caller.cubin"
    write_bindings(folder / "tilelib_relu.tileexports.json", tmp_path)
    preview = ["--enable-tile", "--tile-preview", "simt", "-std=c++20", "-arch=sm_120", f"-I{tmp_path}"]
    link = [f"-Xtileiras=-l={library}", "--tilecubin", "-o", cubin]
    run(toolkit, tmp_path, shadow_root(toolkit) / "bin" / "nvcc", *preview, *link, CALLER)
    assert re.search(r"\bCALL\b", machine_code(toolkit, cubin))
