"""The mock caller's source: what it says, and that the real compilers take it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from callers.libraries import SPECIFICATION, cuda_library, ltoir_of
from callers.nvvm_libraries import nvvm_library, result, value
from needed_tools import needs
from tilewright.callers.mock.caller import Launch, caller_ir, caller_source, checked_exports, launch_of, split
from tilewright.callers.mock.linked import caller_ltoir, link_mock
from tilewright.device.ltoir_header import read_header
from tilewright.device.workers import Workers
from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.toolchain.shadow import tool_environment
from tilewright.toolchain.toolkit import Toolkit

F32 = ElementType.F32
CALLER = """\
// Written by tilewright from sample.tileexports.json; do not edit.
// It stands in for a tile compiler: one kernel an export, each thread with its own fragment of the tile.

extern "C" __device__ void relu_impl(float x, float *relu_out);
extern "C" __device__ void scale_in_place_impl(float *x, float factor);
extern "C" __device__ void warp_sum_impl(float x, float *warp_sum_out);

// relu: 128 elements, 128 invocations of 1 thread, 1 element a thread
extern "C" __global__ void tilewright_mock_relu(const float *x_tile, float *relu_out_tile)
{
    const unsigned long long tilewright_thread = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long tilewright_at = tilewright_thread * 1;
    ::relu_impl(x_tile[tilewright_at], relu_out_tile + tilewright_at);
}

// scale_in_place: 128 elements, 128 invocations of 1 thread, 1 element a thread
extern "C" __global__ void tilewright_mock_scale_in_place(float *x_tile, const float *factor_tile)
{
    const unsigned long long tilewright_thread = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long tilewright_at = tilewright_thread * 1;
    ::scale_in_place_impl(x_tile + tilewright_at, factor_tile[tilewright_at]);
}

// warp_sum: 128 elements, 4 invocations of 32 threads, 1 element a thread
extern "C" __global__ void tilewright_mock_warp_sum(const float *x_tile, float *warp_sum_out_tile)
{
    const unsigned long long tilewright_thread = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long tilewright_at =
        tilewright_thread / 32 * 32 + tilewright_thread % 32 * 1;
    ::warp_sum_impl(x_tile[tilewright_at], warp_sum_out_tile + tilewright_at);
}
"""


@pytest.fixture(scope="module")
def specification(tmp_path_factory: pytest.TempPathFactory) -> ExportSet:
    return cuda_library(tmp_path_factory.mktemp("specification"), SPECIFICATION).exports


def test_the_source_for_the_specifications_exports_is_this(specification: ExportSet) -> None:
    assert caller_source(specification) == CALLER


@needs("g++")
def test_it_compiles_with_nvcc(specification: ExportSet, tmp_path: Path, toolkit: Toolkit) -> None:
    (tmp_path / "caller.cu").write_text(caller_source(specification))
    command = [str(toolkit.require("nvcc").path), "-arch=sm_90", "-dlto", "-ltoir", "caller.cu", "-o", "caller.ltoir"]
    environment = tool_environment(toolkit, {"PATH": "/usr/bin:/bin"})
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_header((tmp_path / "caller.ltoir").read_bytes()).arch == 90


def test_equal_exports_give_equal_device_code(specification: ExportSet, toolkit: Toolkit, workers: Workers) -> None:
    first, second = (caller_ltoir(specification, arch="sm_90", toolkit=toolkit, workers=workers) for _ in range(2))
    assert first == second
    assert [name for name, _ in first] == ["mock/caller.cu"]


def test_the_library_is_inlined_into_the_caller(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    library = cuda_library(tmp_path, SPECIFICATION)
    ltoir = ltoir_of(library, "sm_90", toolkit, workers)
    callers = caller_ltoir(library.exports, arch="sm_90", toolkit=toolkit, workers=workers)
    ptx = link_mock(ltoir, callers, name="l", arch="sm_90", toolkit=toolkit, workers=workers, ptx=True).decode()
    assert ptx.count(".entry") == 3
    assert "call" not in ptx
    assert ".func" not in ptx


def test_multiplication_and_addition_stay_apart(tmp_path: Path, toolkit: Toolkit, workers: Workers) -> None:
    source = "[[tile_export(tile_shape = 32)]] __device__ float axpy(float a, float x, float y) { return a * x + y; }\n"
    library = cuda_library(tmp_path, source)
    ltoir = ltoir_of(library, "sm_90", toolkit, workers)
    callers = caller_ltoir(library.exports, arch="sm_90", toolkit=toolkit, workers=workers)
    ptx = link_mock(ltoir, callers, name="l", arch="sm_90", toolkit=toolkit, workers=workers, ptx=True).decode()
    assert "fma" not in ptx
    assert "mul" in ptx


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_a_half_by_value_is_called_from_ir_and_inlined(arch: str, toolkit: Toolkit, workers: Workers) -> None:
    library = nvvm_library()
    cuda, nvvm = split(library.exports)
    assert [export.name for export in nvvm.exports] == ["halves"]
    assert len(cuda.exports) == 3
    ltoir = ltoir_of(library, arch, toolkit, workers)
    callers = caller_ltoir(library.exports, arch=arch, toolkit=toolkit, workers=workers)
    assert [name for name, _ in callers] == ["mock/caller.cu", "mock/caller.ll"]
    ptx = link_mock(ltoir, callers, name="l", arch=arch, toolkit=toolkit, workers=workers, ptx=True).decode()
    assert ptx.count(".entry tilewright_mock_") == 4
    assert "call" not in ptx


@pytest.mark.parametrize(
    ("size", "footprint", "sync", "blocks", "threads"),
    [
        (1, 1, Sync.NONE, 1, 1),
        (128, 4, Sync.NONE, 1, 32),
        (1024, 1, Sync.WARP, 1, 1024),
        (2048, 1, Sync.NONE, 2, 1024),
        (4096, 2, Sync.WARP, 2, 1024),
    ],
)
def test_one_block_until_1024_threads(size: int, footprint: int, sync: Sync, blocks: int, threads: int) -> None:
    parameter = Parameter("x", F32, Access.INOUT, footprint)
    export = TileExport("f", "f_impl", "f", (parameter,), size, sync)
    assert launch_of(export) == Launch("tilewright_mock_f", blocks, threads)


def test_fragments_of_a_warp_are_addressed_by_invocation_and_lane() -> None:
    export = TileExport("f", "f_impl", "f", (Parameter("x", F32, Access.INOUT, 4),), 256, Sync.WARP)
    text = caller_source(ExportSet("sample", (export,)))
    assert "tilewright_thread / 32 * 128 + tilewright_thread % 32 * 4;" in text
    assert "%start = mul i64 %invocation, 128\n" in caller_ir(ExportSet("sample", (export,)))


def test_names_of_the_language_may_be_parameters(toolkit: Toolkit, workers: Workers) -> None:
    names = ("threadIdx", "blockIdx", "f_impl", "tilewright_at", "warpSize")
    parameters = (*(value(name, F32) for name in names), result("f_out", F32))
    exports = ExportSet("sample", (TileExport("f", "f_impl", "f", parameters, 32),))
    assert len(caller_ltoir(exports, arch="sm_90", toolkit=toolkit, workers=workers)) == 1


def test_a_parametric_export_is_checked_at_a_size_that_its_footprint_fills() -> None:
    exports = tuple(
        TileExport(
            f"f{footprint}", f"f{footprint}_impl", "f", (Parameter("x", F32, Access.INOUT, footprint),), None, sync
        )
        for footprint, sync in ((1, Sync.NONE), (2, Sync.WARP), (8, Sync.WARP))
    )
    sized = checked_exports(ExportSet("sample", exports)).exports
    assert [export.tile_shape for export in sized] == [128, 128, 256]
