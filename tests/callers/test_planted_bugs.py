"""A bug planted in a wrapper makes the emulated check fail at the right export and element, in CUDA C++ and in IR."""

from __future__ import annotations

import pytest

from callers.libraries import SPECIFICATION, Library, bundle_of, cuda_library
from callers.nvvm_libraries import REFERENCES, nvvm_library
from tilewright.callers.emulate import emulate_bundle
from tilewright.callers.report import Report
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

SOURCE = (
    SPECIFICATION
    + """\
[[tile_export(tile_shape = 128)]] __device__ float minus(float a, float b) { return a - b; }
[[tile_export(tile_shape = 128)]] __device__ void flip(const float (&x)[4], float (&y)[4]) {
    for (int i = 0; i < 4; ++i) y[i] = x[3 - i];
}
[[tile_export(tile_shape = 128, sync = "warp")]] __device__ float step(float x) {
    return x - __shfl_up_sync(0xffffffffu, x, 1);
}
"""
)
PLANTED = {
    "wrong sign": ("*relu_out = ", "*relu_out = -", "relu", "element 1 is 0x80000000 (-0), expected 0x00000000 (0)"),
    "swapped arguments": ("::minus)(a, b)", "::minus)(b, a)", "minus", "`minus_out`: element 0 is 0x"),
    "nothing written": ("*minus_out = ", "", "minus", "`minus_out`: element 0 is 0x"),
    "next element": ("*minus_out = ", "minus_out[1] = ", "minus", "`minus_out`: 4 bytes were written past the end"),
    "lane off by one": (
        "::step)(x)",
        "::step)(__shfl_down_sync(~0u, x, 1))",
        "step",
        "`step_out`: element 31 is 0x00000000 (0), expected 0x3d800000 (0.0625)",
    ),
    "footprint stride": ("(*)[4]>(x)", "(*)[4]>(x + threadIdx.x)", "flip", "`y`: element 4 is 0x"),
    "fragment before": ("(*)[4]>(y)", "(*)[4]>(y - 4)", "flip", "`y`: 16 bytes were written before the start"),
    "input written": (
        "((void(*)(const float (&)[4]",
        "const_cast<float *>(x)[1] = 9; ((void(*)(const float (&)[4]",
        "flip",
        "`x` is an input, and element 1 of it was written",
    ),
    "lanes that never come": (
        "*step_out = ",
        "if (x > 0) __syncwarp(); *step_out = ",
        "step",
        "lane 0 waits in `__shfl_up_sync` for lanes that never come",
    ),
}
IR_PLANTED = {
    "wrong sign": (
        "store float %r, float* %relu_out",
        "%n = fsub float 0.0, %r\n  store float %n, float* %relu_out",
        "relu",
    ),
    "swapped arguments": ("fsub float %a, %b", "fsub float %b, %a", "minus"),
    "next element": (
        "store half %r, half* %y",
        "%z = getelementptr half, half* %y, i64 1\n  store half %r, half* %z",
        "halves",
    ),
    "lane off by one": ("i32 16, i32 31", "i32 1, i32 31", "warp_sum"),
    "lanes that never come": ("i32 -1, float %x, i32 16", "i32 2147483647, float %x, i32 16", "warp_sum"),
}


def failing(report: Report) -> dict[str, str]:
    """The lines of every export that failed, by its name."""
    return {result.check.name: "\n".join(result.lines()) for result in report.results if not result.passed}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return cuda_library(tmp_path_factory.mktemp("sound"), SOURCE)


def emulated(library: Library, toolkit: Toolkit, workers: Workers, compiler: str) -> Report:
    bundle = bundle_of(library, toolkit, workers, compiler, REFERENCES if not compiler else None)
    return emulate_bundle(bundle, workers=workers, compiler=compiler, include=toolkit.include)


def test_the_sound_library_passes(sound: Library, toolkit: Toolkit, workers: Workers, compiler: str) -> None:
    report = emulated(sound, toolkit, workers, compiler)
    assert failing(report) == {}
    assert report.summary == (
        "SUCCESS: 6/6 tile exports verified through the native ABI, "
        "CPU-emulated (the caller and the library's CUDA C++, both compiled for the CPU)"
    )


@pytest.mark.parametrize("bug", PLANTED)
def test_a_bug_in_a_wrapper_fails(bug: str, sound: Library, toolkit: Toolkit, workers: Workers, compiler: str) -> None:
    old, new, export, words = PLANTED[bug]
    report = emulated(sound.changed(old, new), toolkit, workers, compiler)
    found = failing(report)
    assert list(found) == [export]
    assert found[export].startswith(f"FAIL {export}: ")
    assert words in found[export]
    assert report.summary.startswith("FAILURE: 5/6 tile exports verified")


def test_the_sound_ir_passes(toolkit: Toolkit, workers: Workers) -> None:
    report = emulated(nvvm_library(), toolkit, workers, "")
    assert failing(report) == {}
    assert report.summary.endswith("CPU-emulated (the caller's and the library's NVVM IR, run by LLVM on the CPU)")


@pytest.mark.parametrize("bug", IR_PLANTED)
def test_a_bug_in_ir_fails(bug: str, toolkit: Toolkit, workers: Workers) -> None:
    old, new, export = IR_PLANTED[bug]
    assert list(failing(emulated(nvvm_library().changed(old, new), toolkit, workers, ""))) == [export]
