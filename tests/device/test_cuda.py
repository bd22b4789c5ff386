"""CUDA C++ to LTOIR with the real NVRTC: which library, which bytes, which messages, which wrong functions."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from device import samples
from device.samples import RELU, RELU_CUDA, cuda, export, library
from tilewright.device.ltoir import make_ltoir, read_header
from tilewright.device.module import DeviceError
from tilewright.device.nvrtc import compile_cuda, version
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet, Sync
from tilewright.toolchain.toolkit import ToolchainError, Toolkit


@pytest.mark.parametrize(("arch", "number"), [("sm_120", 120), ("compute_75", 75), ("sm_90a", 90), ("sm_120f", 120)])
def test_ltoir_is_made_for_the_architecture_asked_for(
    arch: str, number: int, toolkit: Toolkit, workers: Workers
) -> None:
    made = make_ltoir(cuda(RELU_CUDA), RELU, arch=arch, toolkit=toolkit, workers=workers)
    assert read_header(made).arch == number


def test_every_architecture_of_the_assembler_can_be_built_for(toolkit: Toolkit, workers: Workers) -> None:
    """The container of sm_110 still says 101, its number before CUDA 13."""
    for arch in toolkit.architectures():
        made = make_ltoir(cuda(RELU_CUDA), RELU, arch=arch, toolkit=toolkit, workers=workers)
        assert read_header(made).arch == int(arch.removeprefix("sm_"))


def test_sm_and_compute_spellings_make_the_same_bytes(toolkit: Toolkit, workers: Workers) -> None:
    first, second = (
        make_ltoir(cuda(RELU_CUDA), RELU, arch=arch, toolkit=toolkit, workers=workers)
        for arch in ("sm_90", "compute_90")
    )
    assert first == second


def test_the_nvrtc_of_a_worker_is_the_toolkits_and_the_only_one(toolkit: Toolkit) -> None:
    nvrtc = toolkit.require("nvrtc")
    with Workers(1) as pool:
        pool.run(compile_cuda, cuda(RELU_CUDA), "compute_120", str(nvrtc.path), toolkit.include)
        assert ".".join(map(str, pool.run(version, str(nvrtc.path)))) in nvrtc.version
        assert pool.run(samples.loaded_libraries, "libnvrtc.so") == {str(nvrtc.path.resolve())}


def test_bytes_are_the_same_from_every_folder_and_process(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def header(folder: str, factor: int) -> tuple[str, str]:
        text = f"#pragma once\nnamespace {folder} {{ __device__ float k(float x) {{ return x * {factor}; }} }}\n"
        return f"/tw/lib/{folder}/k.cuh", text

    headers = (header("one", 2), header("two", 3))
    text = '#include "/tw/lib/one/k.cuh"\n#include "/tw/lib/two/k.cuh"\n'
    text += 'extern "C" __device__ void relu_impl(float x, float *o) { *o = one::k(x) + two::k(x); }\n'
    made = set()
    for place in ("here", "there/deeper"):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        with Workers(1) as pool:
            module = cuda(text, "lib/relu.cu", headers)
            made.add(make_ltoir(module, RELU, arch="sm_120", toolkit=toolkit, workers=pool))
    assert len(made) == 1
    assert str(tmp_path).encode() not in made.pop()


def test_the_text_of_a_header_of_equal_base_name_matters(toolkit: Toolkit, workers: Workers) -> None:
    def made(factor: int) -> bytes:
        headers = (
            ("/tw/a/k.cuh", "__device__ float k(float x) { return x; }"),
            ("/tw/b/k.cuh", f"__device__ float h(float x) {{ return x * {factor}; }}"),
        )
        text = '#include "/tw/a/k.cuh"\n#include "/tw/b/k.cuh"\n'
        text += 'extern "C" __device__ void relu_impl(float x, float *o) { *o = k(x) + h(x); }\n'
        return make_ltoir(cuda(text, headers=headers), RELU, arch="sm_120", toolkit=toolkit, workers=workers)

    assert made(2) != made(3)


def test_compiling_outside_a_worker_is_refused(toolkit: Toolkit) -> None:
    with pytest.raises(RuntimeError, match="working directory"):
        compile_cuda(cuda(RELU_CUDA), "compute_120", str(toolkit.require("nvrtc").path), ())


def test_every_compile_error_is_placed_in_the_users_own_file(toolkit: Toolkit, workers: Workers) -> None:
    header = ("/tw/a/inc/k.cuh", "#pragma once\n__device__ float k(float x) { return x }\n")
    text = '#include "/tw/a/inc/k.cuh"\n\n__device__ float f(float x) {\n\treturn y;\n}\n'
    text += "__device__ int g() { return z; }\n"
    found = problems(cuda(text, headers=(header,)), toolkit, workers)
    assert [(str(problem.where), problem.what) for problem in found] == [
        ("a/inc/k.cuh:2:40", 'expected a ";"'),
        ("a/k.cu:4:9", 'identifier "y" is undefined'),
        ("a/k.cu:6:29", 'identifier "z" is undefined'),
    ]
    assert "3 errors detected" in found[-1].detail
    assert "/tw/" not in found[-1].detail
    assert [problem.detail for problem in found[:-1]] == ["", ""]


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("#include <cmath>", "needs no header for sqrtf"),
        ("#include <type_traits>", "has no host headers"),
        ("__device__ __half h(__half x);", "#include <cuda_fp16.h>"),
    ],
)
def test_a_common_compile_error_has_a_hint(line: str, hint: str, toolkit: Toolkit, workers: Workers) -> None:
    assert hint in problems(cuda(f"{line}\n"), toolkit, workers)[0].hint


def test_a_missing_header_is_named_with_its_line(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(cuda('\n#include "nope.cuh"\n'), toolkit, workers)
    assert str(found).startswith('a/k.cu:2:20: error: cannot open source file "nope.cuh"')


def test_an_unclosed_brace_stands_where_it_opens(toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(cuda("\n__device__ float f(float x) { return x;\n"), toolkit, workers)
    assert str(found).startswith('a/k.cu:2:29: error: expected a "}"')


def test_what_is_never_closed_makes_no_errors_of_the_wrappers_after_it(toolkit: Toolkit, workers: Workers) -> None:
    wrappers = '#line 1 "k.wrappers.cu"\nnamespace tilewright_generated {}\n#line 2 "a/k.cu"\n'
    wrappers += 'static_assert(tilewright_generated::is_exactly<float(float)>(&::f), "");\n'
    text = "__device__ int g() { return z; }\n__device__ float f(float x) { if (x > 0) { return x; return 0;\n}\n"
    found = problems(cuda(text + wrappers), toolkit, workers)
    assert [(str(problem.where), problem.what) for problem in found] == [
        ("a/k.cu:1:29", 'identifier "z" is undefined'),
        ("a/k.cu:2:29", 'expected a "}"'),
    ]
    assert "k.wrappers.cu(1): error" in found[-1].detail
    (wrong,) = problems(cuda(wrappers), toolkit, workers)[:1]
    assert str(wrong.where).startswith("a/k.cu:2:"), "without such a fault they are told"


def test_a_refused_architecture_is_told_in_nvrtcs_words(toolkit: Toolkit, workers: Workers) -> None:
    with pytest.raises(DeviceError, match=r"a/k\.cu: error: NVRTC: invalid value for --gpu-architecture"):
        make_ltoir(cuda(RELU_CUDA), RELU, arch="sm_33", toolkit=toolkit, workers=workers)


def test_an_architecture_that_is_none_shows_how_to_write_one(toolkit: Toolkit, workers: Workers) -> None:
    with pytest.raises(ToolchainError, match=r"`sm-120` is not an architecture\n  hint: write it like sm_120"):
        make_ltoir(cuda(RELU_CUDA), RELU, arch="sm-120", toolkit=toolkit, workers=workers)


def test_warnings_reach_the_caller(toolkit: Toolkit, workers: Workers) -> None:
    said: list[str] = []
    text = RELU_CUDA + "#warning look here\n"
    make_ltoir(cuda(text), RELU, arch="sm_120", toolkit=toolkit, workers=workers, warn=said.append)
    assert "a/k.cu(2): warning" in said[0]
    assert "look here" in said[0]


def test_our_attribute_gives_no_warning(toolkit: Toolkit, workers: Workers) -> None:
    said: list[str] = []
    text = (
        '[[tile_export(tile_shape = 128, arch = {"sm_120"})]] __device__ float f(float x) { return x; }\n' + RELU_CUDA
    )
    make_ltoir(cuda(text), RELU, arch="sm_120", toolkit=toolkit, workers=workers, warn=said.append)
    assert said == []


@pytest.mark.parametrize(
    "includes",
    [
        "<cstdint>",
        "<stdint.h>",
        "<cstddef>",
        "<stddef.h>",
        "<cstdint>\n#include <cuda/std/cstdint>",
        "<cuda/std/cstdint>\n#include <cuda/std/cstddef>\n#include <cstdint>\n#include <cstddef>",
    ],
)
def test_standard_headers_that_nvrtc_lacks_are_there(includes: str, toolkit: Toolkit, workers: Workers) -> None:
    uses = "int32_t x = 0; uint64_t y = UINT64_MAX; static_assert(sizeof(y) == 8); " if "int" in includes else ""
    uses += "std::int64_t z = INT64_MIN; " if "<cstdint>" in includes else ""
    uses += "size_t s = 0; static_assert(sizeof(ptrdiff_t) == 8); " if "stddef" in includes else ""
    text = f"#include {includes}\n__device__ void f() {{ {uses} }}\n{RELU_CUDA}"
    make_ltoir(cuda(text), RELU, arch="sm_120", toolkit=toolkit, workers=workers)


def test_a_standard_header_may_be_asked_for_by_a_users_header(toolkit: Toolkit, workers: Workers) -> None:
    header = ("/tw/a/k.cuh", "#include <cstdint>\nusing word = std::uint32_t;\n")
    text = f'#include "/tw/a/k.cuh"\n__device__ word f() {{ return 1; }}\n{RELU_CUDA}'
    make_ltoir(cuda(text, headers=(header,)), RELU, arch="sm_120", toolkit=toolkit, workers=workers)


def test_f16_by_value_is_its_sixteen_bits(toolkit: Toolkit, workers: Workers) -> None:
    text = (
        "#include <cuda_fp16.h>\n"
        'extern "C" __device__ void neg_impl(unsigned short x, __half *o) { *o = -__ushort_as_half(x); }\n'
    )
    made = make_ltoir(cuda(text), library(export("neg", "f16")), arch="sm_90", toolkit=toolkit, workers=workers)
    assert read_header(made).arch == 90


def test_f16_as_an_aggregate_is_refused(toolkit: Toolkit, workers: Workers) -> None:
    text = '#include <cuda_fp16.h>\nextern "C" __device__ void neg_impl(__half x, __half *o) { *o = -x; }\n'
    (found,) = problems(cuda(text), toolkit, workers, library(export("neg", "f16")))
    assert found.what == (
        "`neg`: the device code has `.func neg_impl(.b8[2], .b64)`, the export needs `.func neg_impl(.b32, .b64)`"
    )
    assert found.hint == "the native function is: void neg_impl(unsigned short x, __half *neg_out)"


SCALARS = {
    "f32": "float",
    "f64": "double",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
}


@pytest.mark.parametrize("arch", ["compute_75", "sm_120"])
def test_every_scalar_by_value_and_behind_a_pointer_passes_the_probe(
    arch: str, toolkit: Toolkit, workers: Workers
) -> None:
    exports, text = [], ""
    for (label, c), footprint in itertools.product(SCALARS.items(), (1, 4)):
        name = f"f_{label}_{footprint}"
        exports.append(export(name, label, label, footprint=footprint))
        inputs = f"{c} x, {c} y" if footprint == 1 else f"const {c} *x, const {c} *y"
        value = "x + y" if footprint == 1 else "x[0] + y[3]"
        text += f'extern "C" __device__ void {name}_impl({inputs}, {c} *o) {{ *o = {value}; }}\n'
    make_ltoir(cuda(text), library(*exports), arch=arch, toolkit=toolkit, workers=workers)


WRONG = [
    ("double for float", "void relu_impl(double x, float *o) { *o = x; }", ".func relu_impl(.b64, .b64)"),
    ("pointer for value", "void relu_impl(float *x, float *o) { *o = *x; }", ".func relu_impl(.b64, .b64)"),
    ("arguments swapped", "void relu_impl(float *o, float x) { *o = x; }", ".func relu_impl(.b64, .b32)"),
    ("argument missing", "void relu_impl(float x) {}", ".func relu_impl(.b32)"),
    ("argument too many", "void relu_impl(float x, float *o, int n) { *o = x; }", ".func relu_impl(.b32, .b64, .b32)"),
    ("result returned", "float relu_impl(float x) { return x; }", ".func (.b32) relu_impl(.b32)"),
    ("no parameters", "void relu_impl() {}", ".func relu_impl()"),
    ("struct by value", "void relu_impl(float2 x, float *o) { *o = x.x; }", ".func relu_impl(.b8[8], .b64)"),
]


@pytest.mark.parametrize(("fault", "function", "shown"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_native_function_is_shown_beside_the_right_one(
    fault: str, function: str, shown: str, toolkit: Toolkit, workers: Workers
) -> None:
    (found,) = problems(cuda(f'extern "C" __device__ {function}\n'), toolkit, workers)
    assert found.what == f"`relu`: the device code has `{shown}`, the export needs `.func relu_impl(.b32, .b64)`"
    assert found.hint == "the native function is: void relu_impl(float x, float *relu_out)"
    assert str(found.where) == "a/k.cu:7:3"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "__device__ void relu_impl(float x, float *o) { *o = x; }\n",
        'extern "C" __device__ void relu_imp(float x, float *o) { *o = x; }\n',
        'extern "C" __device__ void relu_impl(float x, float *o);\n',
        'extern "C" __global__ void relu_impl(float x, float *o) { *o = x; }\n',
    ],
    ids=["empty", "mangled", "misspelt", "declared only", "kernel"],
)
def test_a_missing_symbol_is_named_with_the_function_to_write(text: str, toolkit: Toolkit, workers: Workers) -> None:
    (found,) = problems(cuda(text), toolkit, workers)
    assert found.what == "`relu`: the device code does not define `relu_impl`"
    assert found.hint == 'define it: extern "C" __device__ void relu_impl(float x, float *relu_out)'


def test_all_wrong_functions_are_told_at_once(toolkit: Toolkit, workers: Workers) -> None:
    exports = library(export("relu", "f32"), export("scale", "f64"), export("good", "i8"))
    text = (
        'extern "C" __device__ void relu_impl(float x) {}\n'
        'extern "C" __device__ void good_impl(signed char x, signed char *o) { *o = x; }\n'
    )
    found = problems(cuda(text), toolkit, workers, exports)
    assert [problem.what.split(":")[0] for problem in found] == ["`relu`", "`scale`"]


def test_a_function_that_nobody_defines_is_named(toolkit: Toolkit, workers: Workers) -> None:
    text = 'extern "C" __device__ float other(float);\n' + RELU_CUDA.replace("x > 0.0f ? x : 0.0f", "other(x)")
    (found,) = problems(cuda(text), toolkit, workers)
    assert str(found) == (
        "a/k.cu: error: the device code calls `other`, which it does not define\n"
        "  hint: define it in this source or in a header it includes"
    )


def test_mathematics_and_printf_need_no_definition(toolkit: Toolkit, workers: Workers) -> None:
    value = "tanhf(sinf(x)) + (float)pow((double)x, 3.0)"
    text = RELU_CUDA.replace("*relu_out = x > 0.0f ? x : 0.0f", f'*relu_out = {value}; printf("%f\\n", x)')
    make_ltoir(cuda(text), RELU, arch="sm_120", toolkit=toolkit, workers=workers)


@pytest.mark.parametrize("arch", ["compute_75", "sm_120"])
def test_shared_memory_and_block_barriers_are_refused_wherever_they_hide(
    arch: str, toolkit: Toolkit, workers: Workers
) -> None:
    text = (
        "__device__ float deep(float x) { __shared__ float tile[32]; tile[threadIdx.x] = x; __syncthreads(); "
        "return tile[31 - threadIdx.x]; }\n" + RELU_CUDA.replace("x > 0.0f ? x : 0.0f", "deep(x)")
    )
    found = problems(cuda(text), toolkit, workers, arch=arch)
    assert "declares shared memory" in found[0].what
    assert "tile" in found[0].what
    assert "waits for the whole block" in found[1].what
    assert found[1].hint == 'use `sync = "warp"` and `__syncwarp()`'


def test_a_kernel_beside_the_exports_may_use_what_they_may_not(toolkit: Toolkit, workers: Workers) -> None:
    kernel = (
        'extern "C" __device__ float elsewhere(float x);\n'
        "__device__ __noinline__ float block_sum(float x) { __shared__ float tile[32]; tile[threadIdx.x] = x; "
        "__syncthreads(); return tile[0] + elsewhere(x); }\n"
        'extern "C" __global__ void other(float *x) { *x = block_sum(*x); }\n'
    )
    made = make_ltoir(cuda(kernel + RELU_CUDA), RELU, arch="sm_120", toolkit=toolkit, workers=workers)
    assert read_header(made).arch == 120


@pytest.mark.parametrize(
    ("value", "instruction"),
    [
        ("__shfl_xor_sync(~0u, x, 1)", "shfl.sync"),
        ("__any_sync(~0u, x > 0) ? x : 0", "vote.sync"),
        ("(__syncwarp(), x)", "bar.warp.sync"),
    ],
)
def test_warp_traffic_needs_warp_synchronization(
    value: str, instruction: str, toolkit: Toolkit, workers: Workers
) -> None:
    (found,) = problems(cuda(RELU_CUDA.replace("x > 0.0f ? x : 0.0f", value)), toolkit, workers)
    assert found.what.startswith(f"`relu`: its threads do not call together, yet it waits for a warp, `{instruction}")
    assert 'sync = "warp"' in found.hint


def test_warp_shuffles_and_warp_barriers_are_no_block_barriers(toolkit: Toolkit, workers: Workers) -> None:
    body = "__syncwarp(); *relu_out = __shfl_xor_sync(0xffffffffu, x, 1)"
    text = RELU_CUDA.replace("*relu_out = x > 0.0f ? x : 0.0f", body)
    together = library(replace(export("relu", "f32"), sync=Sync.WARP))
    make_ltoir(cuda(text), together, arch="sm_120", toolkit=toolkit, workers=workers)


def problems(
    module: samples.DeviceModule, toolkit: Toolkit, workers: Workers, exports: ExportSet = RELU, arch: str = "sm_120"
) -> list[samples.Problem]:
    with pytest.raises(DeviceError) as caught:
        make_ltoir(module, exports, arch=arch, toolkit=toolkit, workers=workers)
    return list(caught.value.problems)
