"""The example programs, built against their libraries as their build scripts say, on a machine without a GPU."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from callers.program.conftest import Build
from needed_tools import needs
from tilewright.callers.launch.cubin import kernels_of
from tilewright.callers.program.compilation import Compiled, Program, compile_program
from tilewright.toolchain.toolkit import Toolkit

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"
ARCHITECTURES = ("sm_90", "sm_120")


def library(built: Build, source: str, arch: str) -> Path:
    path = ROOT / source
    return built(path.stem, path.read_text(encoding="utf-8"), arch)


def compiled(toolkit: Toolkit, source: str, libraries: list[Path], arch: str, *, cubin: bool) -> Compiled:
    folders = tuple(each.parent for each in libraries)
    return compile_program(Program(ROOT / source, tuple(libraries), arch, cubin, folders), toolkit)


def machine_code(toolkit: Toolkit, cubin: bytes, folder: Path) -> str:
    file = folder / "program.cubin"
    file.write_bytes(cubin)
    command = [toolkit.require("nvdisasm").path, "-c", file]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@needs("g++")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_tile_caller(arch: str, built: Build, toolkit: Toolkit, tmp_path: Path) -> None:
    relu = library(built, "examples/tilelib_relu/tilelib_relu.cu", arch)
    source = "examples/tile_caller/tile_caller.cu"
    cubin = compiled(toolkit, source, [relu], arch, cubin=True)
    assert cubin.warnings == ()
    text = machine_code(toolkit, cubin.data, tmp_path)
    assert re.search(r"\bFMNMX\b", text), "no instruction of relu"
    assert len(re.findall(r"\bSHFL\.BFLY\b", text)) == 5, "warp_sum has five butterfly steps"
    program = tmp_path / "tile_caller"
    program.write_bytes(compiled(toolkit, source, [relu], arch, cubin=False).data)
    program.chmod(0o755)
    done = subprocess.run([program], env={"CUDA_VISIBLE_DEVICES": ""}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "skipping: no CUDA device was found\n")


@needs("g++")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_fused_kernel_uses_two_libraries(arch: str, built: Build, toolkit: Toolkit, tmp_path: Path) -> None:
    folder = "examples/fused_gelu_bias"
    libraries = [library(built, f"{folder}/{name}.cu", arch) for name in ("activation", "broadcast")]
    result = compiled(toolkit, f"{folder}/fused_gelu_bias.cu", libraries, arch, cubin=True)
    assert result.warnings == ()
    assert kernels_of(result.data, "fused") == ("fused_gelu_bias",)
    text = machine_code(toolkit, result.data, tmp_path)
    assert re.search(r"\bMUFU\.EX2\b", text), "no instruction of gelu"
    assert not re.search(r"\bCALL\b", text)


@needs("g++")
def test_the_boundary_benchmark_builds(tmp_path: Path) -> None:
    cubin = tmp_path / "boundary.cubin"
    command = [sys.executable, ROOT / "benchmarks" / "boundary" / "boundary.py", "--build", cubin, "--arch", "sm_90"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "for sm_90, 0 call(s) not inlined" in done.stdout
    names = kernels_of(cubin.read_bytes(), "boundary.cubin")
    assert sorted(names) == ["library_1024", "library_128", "native_1024", "native_128"]


@needs("g++")
@pytest.mark.parametrize("script", ["examples/tile_caller/check_cubin.py", "examples/fused_gelu_bias/check.py"])
def test_a_check_script_without_a_gpu_says_what_it_needs(
    script: str, built: Build, toolkit: Toolkit, tmp_path: Path
) -> None:
    relu = library(built, "examples/tilelib_relu/tilelib_relu.cu", "sm_90")
    cubin = tmp_path / "tile_caller.cubin"
    cubin.write_bytes(compiled(toolkit, "examples/tile_caller/tile_caller.cu", [relu], "sm_90", cubin=True).data)
    environment = {"PYTHONPATH": str(ROOT / "tools"), "CUDA_VISIBLE_DEVICES": "", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, ROOT / script, cubin], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "a driver and a GPU are needed to launch" in done.stderr


@pytest.mark.parametrize("name", ["tile_caller", "fused_gelu_bias"])
def test_a_build_script_names_files_that_exist(name: str) -> None:
    script = EXAMPLES / name / "SConscript"
    words = [node.value for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.Constant)]
    sources = [word for word in words if isinstance(word, str) and word.endswith(".cu") and " " not in word]
    assert sources
    for source in sources:
        assert (ROOT / source[1:] if source.startswith("#") else script.parent / source).is_file(), source
