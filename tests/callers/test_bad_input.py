"""Everything that can be wrong with what a check is made of, each named with the export and the parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from callers.libraries import SPECIFICATION, Library, bundle_of, cuda_library, ltoir_of
from callers.nvvm_libraries import HEAD, REFERENCES, TAIL, nvvm_library
from tilewright.callers.error import CallerError
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvvm import compile_ir
from tilewright.device.workers import Workers
from tilewright.exports.elements import ElementType
from tilewright.problem import ProblemError
from tilewright.toolchain.toolkit import Toolkit

Make = Callable[..., str]


@pytest.fixture(scope="module")
def specification(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return cuda_library(tmp_path_factory.mktemp("specification"), SPECIFICATION)


@pytest.fixture
def refused(toolkit: Toolkit, workers: Workers, compiler: str) -> Make:
    """The text of what a bundle of a library is refused for."""

    def make(library: Library, **changes: object) -> str:
        with pytest.raises(ProblemError) as raised:
            bundle_of(library, toolkit, workers, changes.pop("compiler", compiler), **changes)  # type: ignore[arg-type]
        assert isinstance(raised.value, CallerError | DeviceError)
        return str(raised.value)

    return make


def foreign(text: str, toolkit: Toolkit, workers: Workers) -> bytes:
    """LTOIR of NVVM IR that nobody has checked."""
    libraries = [str(toolkit.require(name).path) for name in ("nvvm", "libdevice")]
    return workers.run(compile_ir, DeviceModule("nvvm", HEAD + text + TAIL, "foreign.ll"), "compute_90", *libraries)


def test_references_that_name_no_export(specification: Library, refused: Make) -> None:
    assert refused(specification, ltoir=b"", references={"rleu": lambda x: x}) == (
        "error: no function there is named as an export of `sample`: rleu\n"
        "  hint: name them: relu, scale_in_place, warp_sum"
    )


def test_device_code_for_a_newer_architecture(
    specification: Library, refused: Make, toolkit: Toolkit, workers: Workers
) -> None:
    ltoir = ltoir_of(specification, "sm_120", toolkit, workers)
    assert refused(specification, ltoir=ltoir) == (
        "sample.ltoir: error: the device code is made for architecture 120, newer than the target sm_90\n"
        "  hint: build the library for sm_90, or verify for sm_120"
    )


def test_device_code_that_is_none(specification: Library, refused: Make) -> None:
    assert refused(specification, ltoir=b"PTX!") == (
        "sample.ltoir: error: not LTOIR: it begins with 50 54 58 21, not ed 43 4e 7f\n"
        "  hint: name an .ltoir file: `tilewright build` writes one beside each library"
    )


def test_damaged_device_code(specification: Library, refused: Make, toolkit: Toolkit, workers: Workers) -> None:
    ltoir = ltoir_of(specification, "sm_90", toolkit, workers)
    text = refused(specification, ltoir=ltoir[:64] + bytes(len(ltoir) - 64))
    assert text.startswith("error: nvJitLink cannot link") or "the worker process was killed" in text


RELU = "define void @relu_impl({}) {{\n  ret void\n}}\n"
REST = """define void @scale_in_place_impl(float* %x, float %f) {
  ret void
}
define void @warp_sum_impl(float %x, float* %o) {
  ret void
}
"""


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (
            "float %x, float* %o, i32 %more",
            "`relu`: `relu_impl` has 3 parameters in the device code, and must have 2: "
            "nothing stands for parameter 3 (.b32)",
        ),
        (
            "float* %o",
            "`relu`: `relu_impl` has 1 parameters in the device code, and must have 2: "
            "they differ from parameter 1 (`x`) on",
        ),
        (
            "float %x",
            "`relu`: `relu_impl` has 1 parameters in the device code, and must have 2: "
            "they differ from parameter 2 (`relu_out`) on",
        ),
        (
            "float* %o, float %x",
            "`relu`: parameter 1 (`x`, f32) of `relu_impl` is .b64 in the device code, and must be .b32",
        ),
        (
            "double %x, float* %o",
            "`relu`: parameter 1 (`x`, f32) of `relu_impl` is .b64 in the device code, and must be .b32",
        ),
    ],
)
def test_a_wrong_native_function(
    parameters: str, expected: str, specification: Library, refused: Make, toolkit: Toolkit, workers: Workers
) -> None:
    text = refused(specification, ltoir=foreign(RELU.format(parameters) + REST, toolkit, workers))
    assert text.splitlines()[0] == f"sample.ltoir: error: {expected}"
    assert text.splitlines()[-1] == "  hint: the description needs: void relu_impl(float x, float *relu_out)"
    assert "`warp_sum`" not in text


def test_both_swapped_parameters_are_named(
    specification: Library, refused: Make, toolkit: Toolkit, workers: Workers
) -> None:
    text = refused(specification, ltoir=foreign(RELU.format("float* %o, float %x") + REST, toolkit, workers))
    assert "parameter 2 (`relu_out`, pointer to f32) of `relu_impl` is .b32 in the device code" in text


def test_a_missing_symbol(specification: Library, refused: Make, toolkit: Toolkit, workers: Workers) -> None:
    text = refused(specification, ltoir=foreign(REST, toolkit, workers))
    assert text.splitlines()[0] == (
        "sample.ltoir: error: `relu`: the device code does not define `relu_impl`; "
        "it defines scale_in_place_impl, warp_sum_impl"
    )


def test_a_function_that_returns_something(
    specification: Library, refused: Make, toolkit: Toolkit, workers: Workers
) -> None:
    relu = "define float @relu_impl(float %x, float* %o) {\n  ret float %x\n}\n"
    text = refused(specification, ltoir=foreign(relu + REST, toolkit, workers))
    assert "`relu`: `relu_impl` returns .b32, and must return nothing" in text


def test_a_description_of_other_types(specification: Library, refused: Make) -> None:
    relu, *rest = specification.exports.exports
    x, out = relu.parameters
    parameters = (x, replace(out, element=ElementType.I32))
    exports = replace(specification.exports, exports=(replace(relu, parameters=parameters), *rest))
    text = refused(replace(specification, exports=exports), ltoir=b"")
    assert text == (
        "sample.cu: error: `relu`: the device code has `void relu_impl(float x, float *relu_out)`, "
        "the description needs `void relu_impl(float x, int *relu_out)`\n"
        "  hint: build the library and its description again"
    )


def test_a_description_of_another_symbol(specification: Library, refused: Make) -> None:
    relu, *rest = specification.exports.exports
    exports = replace(specification.exports, exports=(replace(relu, symbol="other_impl"), *rest))
    text = refused(replace(specification, exports=exports), ltoir=b"")
    assert "`relu`: the device code does not define `other_impl`" in text


def test_ir_that_is_not_the_descriptions(refused: Make) -> None:
    library = nvvm_library().changed("@minus_impl(float %a, float %b,", "@minus_impl(float %a, double %b,")
    changed = library.changed("fsub float %a, %b", "fsub float %a, %a")
    text = refused(changed, ltoir=b"", references=REFERENCES)
    assert "`minus`: the device code has `define void @minus_impl(float, double, ptr)`" in text
    assert "parameter 2 (`b`, f32) is double, must be float" in text


def test_nothing_that_gives_expected_values(refused: Make) -> None:
    text = refused(nvvm_library(), ltoir=b"", references={"relu": REFERENCES["relu"]})
    assert text.splitlines()[:2] == [
        "sample.ll: error: `minus`: nothing gives its expected values: the source behind the IR is not known",
        "  hint: name it: --source FILE; or define `def minus(...)` in a file: --reference FILE.py",
    ]
    assert "`relu`" not in text


def raising(x: object) -> object:
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (raising, "`relu`: the reference raised ValueError: no idea"),
        (lambda x: x.astype("f8"), "`relu`: the reference returned float64[128] for `relu_out`, which is float32[128]"),
        (lambda x: x[:5], "`relu`: the reference returned float32[5] for `relu_out`, which is float32[128]"),
        (lambda x: 3.0, "`relu`: the reference returned float for `relu_out`, which is float32[128]"),
        (lambda x: (x, x), "`relu`: the reference returned 2 tiles, and the export has `relu_out`"),
        (lambda x, y: x, "`relu`: the reference raised TypeError: "),
    ],
)
def test_a_reference_that_fails(
    reference: Callable[..., object], expected: str, specification: Library, refused: Make
) -> None:
    assert expected in refused(specification, references={"relu": reference})


def test_a_reference_cannot_change_its_inputs(
    specification: Library, toolkit: Toolkit, workers: Workers, compiler: str
) -> None:
    def relu(x: np.ndarray) -> np.ndarray:
        x[x < 0] = 0
        return np.where(x > 0, x, np.float32(0))

    bundle = bundle_of(specification, toolkit, workers, compiler, {"relu": relu})
    x, _ = bundle.checks[0].tensors
    assert x.before is not None
    assert np.nanmin(x.before) < 0
    assert bundle.checks[0].oracle == "a Python reference"
    assert bundle.checks[1].oracle.startswith("the function itself compiled for the CPU by g++")


def test_a_function_that_crashes_on_the_cpu(tmp_path: Path, refused: Make) -> None:
    source = "[[tile_export(tile_shape = 32)]] __device__ int divide(int a, int b) { return a / b; }\n"
    text = refused(cuda_library(tmp_path, source))
    assert "`divide`: Running on the CPU: the worker process was killed by SIGFPE" in text
    assert "leave such inputs to a reference" in text


def test_a_function_that_is_no_portable_cpp(tmp_path: Path, refused: Make) -> None:
    source = "[[tile_export(tile_shape = 32)]] __device__ int dot(int a) {\n    return __dp4a(a, a, 0);\n}\n"
    text = refused(cuda_library(tmp_path, source))
    assert text.startswith("sample.cu:2:12: error: ")
    assert "the device code does not compile for the CPU: '__dp4a' was not declared in this scope" in text
    assert "hint: give expected values by reference= (a Python function)" in text


def test_assembly_of_the_gpu(tmp_path: Path, refused: Make) -> None:
    source = (
        "[[tile_export(tile_shape = 32)]] __device__ int lane(int a) {\n"
        '    int r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r + a;\n}\n'
    )
    text = refused(cuda_library(tmp_path, source))
    assert text.startswith("sample.cu:2: error: the device code does not compile for the CPU: no such instruction")


def test_lanes_that_wait_in_vain_on_the_cpu(tmp_path: Path, refused: Make) -> None:
    source = (
        '[[tile_export(tile_shape = 32, sync = "warp")]] __device__ int stuck(int a) {\n'
        "    if (threadIdx.x < 3) __syncwarp();\n    return a;\n}\n"
    )
    text = refused(cuda_library(tmp_path, source))
    assert text == (
        "sample.cu: error: `stuck`: the function compiled for the CPU failed: "
        "lane 0 waits in `__syncwarp` for lanes that never come"
    )
