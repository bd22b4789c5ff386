"""NVVM IR to LTOIR with the real libNVVM: both dialects, its messages, and wrong signatures found in the text."""

from __future__ import annotations

import pytest

from device.samples import RELU, export, ir, library, relu_ir
from tilewright.device.ltoir import make_ltoir, read_header
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.nvvm import OLD_DIALECT, llvm_version
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.problem import Problem
from tilewright.toolchain.toolkit import Toolkit

OPAQUE = relu_ir("float %x, ptr %o", "store float %x, ptr %o")


@pytest.mark.parametrize(
    ("arch", "number", "nvvm_version"),
    [("compute_75", 75, 7), ("sm_90", 90, 7), ("sm_100", 100, 23), ("sm_120", 120, 23), ("compute_120a", 120, 23)],
)
def test_typed_pointers_serve_every_architecture(
    arch: str, number: int, nvvm_version: int, toolkit: Toolkit, workers: Workers
) -> None:
    header = read_header(make_ltoir(relu_ir(), RELU, arch=arch, toolkit=toolkit, workers=workers))
    assert header.arch == number
    assert header.nvvm_version >= nvvm_version
    assert (header.nvvm_version == 7) == (number < 100)


def test_opaque_pointers_serve_the_new_dialect(toolkit: Toolkit, workers: Workers) -> None:
    assert read_header(make_ltoir(OPAQUE, RELU, arch="sm_120", toolkit=toolkit, workers=workers)).arch == 120


def test_opaque_pointers_under_the_old_dialect_say_what_to_write(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(OPAQUE, toolkit, workers, arch="sm_90")
    assert str(found) == (
        "a/k.ll: error: libNVVM refuses the IR: parse expected type\n"
        "    tilewright (3, 33): parse expected type\n"
        "    line 3 of the IR: define void @relu_impl(float %x, ptr %o) {\n"
        "  hint: `compute_90` is read by LLVM 7, which has no `ptr`: write typed pointers, `float*`, good for all"
    )


@pytest.mark.parametrize(
    ("arch", "expected"), [("compute_75", OLD_DIALECT), ("compute_90a", OLD_DIALECT), ("compute_120f", 22)]
)
def test_the_dialect_of_an_architecture_comes_from_libnvvm(
    arch: str, expected: int, toolkit: Toolkit, workers: Workers
) -> None:
    assert workers.run(llvm_version, arch, str(toolkit.require("nvvm").path)) == expected


@pytest.mark.parametrize("arch", ["compute_70", "sm_120", "x"])
def test_an_architecture_without_a_dialect_is_refused(arch: str, toolkit: Toolkit, workers: Workers) -> None:
    with pytest.raises(DeviceError, match=f"libNVVM does not compile for `{arch}`"):
        workers.run(llvm_version, arch, str(toolkit.require("nvvm").path))


def test_libdevice_is_linked_when_the_ltoir_is_made(toolkit: Toolkit, workers: Workers) -> None:
    module = ir(
        "declare float @__nv_tanhf(float)\n"
        "define void @relu_impl(float %x, float* %o) {\n"
        "  %y = call float @__nv_tanhf(float %x)\n  store float %y, float* %o\n  ret void\n}\n"
    )
    with_library = make_ltoir(module, RELU, arch="sm_90", toolkit=toolkit, workers=workers)
    assert len(with_library) > len(make_ltoir(relu_ir(), RELU, arch="sm_90", toolkit=toolkit, workers=workers)) + 200


def test_bytes_depend_on_neither_source_name_nor_process(toolkit: Toolkit) -> None:
    made = set()
    for name in ("a/k.ll", "elsewhere/other.ll"):
        with Workers(1) as pool:
            module = DeviceModule("nvvm", relu_ir().text, name)
            made.add(make_ltoir(module, RELU, arch="sm_120", toolkit=toolkit, workers=pool))
    assert len(made) == 1


def test_the_verifier_is_on(toolkit: Toolkit, workers: Workers) -> None:
    module = ir(
        "declare float @llvm.fabs.f32(float)\n"
        "define void @relu_impl(float %x, float* %o) {\n"
        "  %y = call float @llvm.fabs.f32(float %x)\n  store float %y, float* %o\n  ret void\n}\n"
    )
    (found,) = problems(module, toolkit, workers)
    assert "libNVVM refuses the IR" in found.what
    assert "Unsupported intrinsic: llvm.fabs.f32" in found.detail


def test_text_that_is_no_ir_is_one_problem_with_the_parsers_words(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(DeviceModule("nvvm", "define nonsense", "a/k.ll"), toolkit, workers)
    assert found.what.startswith("the IR does not parse")
    assert "define nonsense" in found.detail
    assert str(found.where) == "a/k.ll"


def test_a_module_without_a_version_is_refused_in_libnvvms_words(toolkit: Toolkit, workers: Workers) -> None:
    module = DeviceModule("nvvm", relu_ir().text.split("!nvvmir")[0], "a/k.ll")
    (found,) = problems(module, toolkit, workers)
    assert "version" in found.detail


BODY = "{\n  ret void\n}\n"
WRONG = [
    ("double for float", f"define void @relu_impl(double %x, float* %o) {BODY}", "define void @relu_impl(double, ptr)"),
    ("i32 for float", f"define void @relu_impl(i32 %x, float* %o) {BODY}", "define void @relu_impl(i32, ptr)"),
    ("pointer for value", f"define void @relu_impl(float* %x, float* %o) {BODY}", "define void @relu_impl(ptr, ptr)"),
    ("arguments swapped", f"define void @relu_impl(float* %o, float %x) {BODY}", "define void @relu_impl(ptr, float)"),
    ("argument missing", f"define void @relu_impl(float %x) {BODY}", "define void @relu_impl(float)"),
    (
        "argument too many",
        f"define void @relu_impl(float %x, float* %o, i32 %n) {BODY}",
        "define void @relu_impl(float, ptr, i32)",
    ),
    (
        "variable arguments",
        f"define void @relu_impl(float %x, float* %o, ...) {BODY}",
        "define void @relu_impl(float, ptr, ...)",
    ),
    (
        "aggregate for value",
        f"define void @relu_impl(float* byval(float) %x, float* %o) {BODY}",
        "define void @relu_impl(ptr byval(float), ptr)",
    ),
    (
        "result returned",
        "define float @relu_impl(float %x, float* %o) {\n  ret float %x\n}\n",
        "define float @relu_impl(float, ptr)",
    ),
    (
        "internal",
        f"define internal void @relu_impl(float %x, float* %o) {BODY}",
        "define internal void @relu_impl(float, ptr)",
    ),
    ("declared only", "declare void @relu_impl(float, float*)\n", "declare void @relu_impl(float, ptr)"),
    (
        "kernel",
        f"define ptx_kernel void @relu_impl(float %x, float* %o) {BODY}",
        "define ptx_kernel void @relu_impl(float, ptr)",
    ),
]


@pytest.mark.parametrize(("fault", "text", "shown"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_signature_is_shown_beside_the_right_one(
    fault: str, text: str, shown: str, toolkit: Toolkit, workers: Workers
) -> None:
    (found,) = problems(ir(text), toolkit, workers)
    assert found.what == (
        f"`relu`: the device code has `{shown}`, the export needs `define void @relu_impl(float, ptr)`"
    )
    assert found.hint
    assert str(found.where) == "a/k.cu:7:3"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (WRONG[0][1], "parameter 1 (`x`, f32) is double, must be float"),
        (
            WRONG[3][1],
            "parameter 1 (`x`, f32) is ptr, must be float\nparameter 2 (`relu_out`, f32) is float, must be ptr",
        ),
        (WRONG[4][1], "it takes 2 parameters: x, relu_out"),
        (WRONG[8][1], "return nothing: results go through pointer parameters, the return slot last"),
        (WRONG[9][1], "it must be an external device function, which a linker sees"),
        (WRONG[10][1], "a declaration is not enough: define the function"),
    ],
)
def test_the_hint_names_what_differs(text: str, hint: str, toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(ir(text), toolkit, workers)
    assert found.hint == hint


def test_a_missing_symbol_is_named(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(ir(f"define void @relu(float %x, float* %o) {BODY}"), toolkit, workers)
    assert str(found) == (
        "a/k.cu:7:3: error: `relu`: the device code has no function `relu_impl`\n"
        "  hint: it needs: define void @relu_impl(float, ptr)"
    )


def test_all_wrong_signatures_are_told_at_once(toolkit: Toolkit, workers: Workers) -> None:
    exports = library(export("relu", "f32"), export("scale", "f64"), export("good", "i8"))
    text = f"define void @relu_impl(float %x) {BODY}define void @good_impl(i8 %x, i8* %o) {BODY}"
    found = problems(ir(text), toolkit, workers, exports)
    assert [problem.what.split(":")[0] for problem in found] == ["`relu`", "`scale`"]


@pytest.mark.parametrize(("arch", "by_value"), [("sm_90", "half"), ("sm_120", "half"), ("sm_90", "i16")])
def test_f16_by_value_may_be_half_or_its_bits(arch: str, by_value: str, toolkit: Toolkit, workers: Workers) -> None:
    text = f"define void @neg_impl({by_value} %x, half* %o) {BODY}"
    make_ltoir(ir(text), library(export("neg", "f16")), arch=arch, toolkit=toolkit, workers=workers)


def test_i16_for_another_element_is_no_half(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(
        ir(f"define void @neg_impl(half %x, i16* %o) {BODY}"), toolkit, workers, library(export("neg", "i16"))
    )
    assert "parameter 1 (`x`, i16) is half, must be i16" in found.hint


def problems(
    module: DeviceModule, toolkit: Toolkit, workers: Workers, exports: ExportSet = RELU, arch: str = "sm_120"
) -> list[Problem]:
    with pytest.raises(DeviceError) as caught:
        make_ltoir(module, exports, arch=arch, toolkit=toolkit, workers=workers)
    return list(caught.value.problems)
