"""What the launcher knows before there is a GPU: a cubin's kernels, the command line, and what it needs installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from needed_tools import needed
from tilewright.callers.error import CallerError
from tilewright.callers.launch.cubin import base_name, find_kernel, kernels_of
from tilewright.cli import main
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit

KERNELS = """\
__global__ void first(float* x) { x[0] = 1; }
extern "C" __global__ void second(float* x, int n) { x[0] = n; }
__global__ void twice(float* x) { x[0] = 2; }
__global__ void twice(int* x) { x[0] = 2; }
"""
TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit) -> Path:
    """A cubin with four kernels, two of one name."""
    needed("g++")
    folder = tmp_path_factory.mktemp("cubin")
    source = folder / "kernels.cu"
    source.write_text(KERNELS, encoding="utf-8")
    made = folder / "kernels.cubin"
    command = [shadow_root(toolkit) / "bin" / "nvcc", "-cubin", "-arch=sm_90", "-o", made, source]
    subprocess.run(command, env=tool_environment(toolkit, os.environ), check=True, capture_output=True)
    return made


def test_a_cubin_names_its_kernels(cubin: Path) -> None:
    found = kernels_of(cubin.read_bytes(), "kernels.cubin")
    assert sorted(found) == ["_Z5firstPf", "_Z5twicePf", "_Z5twicePi", "second"]


def test_a_kernel_is_found_by_its_name_in_the_source_or_in_full(cubin: Path) -> None:
    kernels = kernels_of(cubin.read_bytes(), "kernels.cubin")
    assert find_kernel("first", kernels, "k") == find_kernel("_Z5firstPf", kernels, "k") == "_Z5firstPf"
    assert find_kernel("second", kernels, "k") == "second"
    assert base_name("_ZN1a1bEv") == "_ZN1a1bEv"
    with pytest.raises(CallerError, match="`twice` names 2 kernels"):
        find_kernel("twice", kernels, "k")
    with pytest.raises(CallerError, match="has no kernel `frist`") as raised:
        find_kernel("frist", kernels, "k")
    assert "did you mean `first`?" in raised.value.problems[0].hint


@pytest.mark.parametrize("length", [0, 10, 64, 500])
def test_what_is_no_cubin_is_refused(length: int, cubin: Path) -> None:
    for data in (cubin.read_bytes()[:length], b"\x7fELF" + bytes(length)):
        with pytest.raises(CallerError, match="this is not a cubin"):
            kernels_of(data, "x")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--cubin is required"),
        (["--cubin", "CUBIN"], "--kernel is required"),
        (["--cubin", "CUBIN", "--kernel", "thrid"], "the cubin has no kernel `thrid`"),
        (["--cubin", "CUBIN", "--kernel", "first", "--grid", "1,2,3,4"], "--grid takes up to 3 positive number(s)"),
        (["--cubin", "CUBIN", "--kernel", "first", "--grid", "0"], "--grid takes up to 3 positive number(s)"),
        (["--cubin", "CUBIN", "--kernel", "first", "--block", "1,2"], "--block takes 1 positive number(s)"),
        (["--cubin", "CUBIN", "--kernel", "first", "--arg", "f32"], "the argument `f32` cannot be used"),
        (["--cubin", "gone", "--kernel", "first"], "cannot read `gone`"),
    ],
)
def test_a_wrong_command_line_is_told_without_a_gpu(
    words: list[str], said: str, cubin: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *(str(cubin) if word == "CUBIN" else word for word in words)]) == 1
    assert said in capsys.readouterr().err


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Python with this package, NumPy and cuda-bindings, and nothing else installed."""
    site = tmp_path_factory.mktemp("site")
    (site / "cuda").mkdir()
    (site / "tilewright").symlink_to(TOOLS / "tilewright")
    for name in ("numpy", "cuda.bindings", "cuda.pathfinder"):
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (site / name.replace(".", "/")).symlink_to(Path(spec.origin).parent)
    libraries = importlib.util.find_spec("numpy")
    assert libraries is not None
    assert libraries.origin is not None
    beside = Path(libraries.origin).parents[1] / "numpy.libs"
    if beside.is_dir():
        (site / "numpy.libs").symlink_to(beside)

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        environment = {"PYTHONPATH": str(site), "PATH": os.defpath, "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.run(
            [sys.executable, "-S", *command], env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_it_needs_numpy_and_cuda_bindings_only(
    cubin: Path, bare: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.zeros(4, np.float32))
    arguments = ["--arg", f"{tmp_path / 'x.npy'},compare={tmp_path / 'x.npy'}"]
    done = bare("-m", "tilewright", "run", "--cubin", str(cubin), "--kernel", "first", *arguments)
    assert done.returncode == 1
    assert "error: cannot start the driver" in done.stderr or "error: cannot open GPU 0" in done.stderr
    assert "a driver and a GPU are needed to launch; building needs neither" in done.stderr


def test_without_cuda_bindings_it_says_what_to_install(cubin: Path, tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['cuda.bindings'] = None\n"
        "from tilewright.cli import main\n"
        f"sys.exit(main(['run', '--cubin', {str(cubin)!r}, '--kernel', 'first']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(TOOLS)}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "pip install 'cuda-bindings>=13,<14'" in done.stderr
