"""Linking real LTOIR, and reading headers of good and bad containers."""

from __future__ import annotations

import random
import re

import pytest

from device.samples import RELU, RELU_CUDA, cuda, export, library, relu_ir
from tilewright.device.ltoir import make_ltoir, read_header
from tilewright.device.ltoir_header import SIZE
from tilewright.device.module import DeviceError
from tilewright.device.nvjitlink import link
from tilewright.device.nvrtc import compile_cuda
from tilewright.device.probe import PtxFunction, functions_of
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

CALLER = (
    'extern "C" __device__ void relu_impl(float x, float *o);\n'
    'extern "C" __global__ void caller(float *p) { relu_impl(p[threadIdx.x], p + threadIdx.x); }\n'
)


@pytest.fixture(scope="module")
def caller(toolkit: Toolkit, workers: Workers) -> bytes:
    nvrtc = str(toolkit.require("nvrtc").path)
    return workers.run(compile_cuda, cuda(CALLER), "compute_90", nvrtc, toolkit.include).ltoir


@pytest.mark.parametrize("module", [cuda(RELU_CUDA), relu_ir()], ids=["cuda", "nvvm"])
def test_a_caller_and_a_library_link_to_a_cubin_and_the_call_is_gone(
    module: object, caller: bytes, toolkit: Toolkit, workers: Workers
) -> None:
    made = make_ltoir(module, RELU, arch="compute_75", toolkit=toolkit, workers=workers)  # type: ignore[arg-type]
    nvjitlink = str(toolkit.require("nvjitlink").path)
    inputs = [("relu", made), ("caller", caller)]
    assert workers.run(link, inputs, arch="sm_120", nvjitlink=nvjitlink).startswith(b"\x7fELF")
    ptx = workers.run(link, inputs, arch="sm_120", nvjitlink=nvjitlink, ptx=True).decode()
    assert ".entry caller" in ptx
    assert functions_of(ptx) == {}
    assert re.search(r"^\s*call\b", ptx, re.MULTILINE) is None


def test_an_undefined_symbol_is_told_with_the_linkers_log(caller: bytes, toolkit: Toolkit, workers: Workers) -> None:
    nvjitlink = str(toolkit.require("nvjitlink").path)
    with pytest.raises(DeviceError, match=r"nvJitLink cannot link for sm_120: (.|\n)*relu_impl"):
        workers.run(link, [("caller", caller)], arch="sm_120", nvjitlink=nvjitlink)


def test_ltoir_newer_than_the_target_is_refused(toolkit: Toolkit, workers: Workers) -> None:
    made = make_ltoir(relu_ir(), RELU, arch="sm_120", toolkit=toolkit, workers=workers)
    nvjitlink = str(toolkit.require("nvjitlink").path)
    with pytest.raises(DeviceError, match=r"newer than target arch(.|\n)*  hint: give LTOIR, "):
        workers.run(link, [("relu", made)], arch="sm_90", nvjitlink=nvjitlink)


def test_a_refused_option_is_an_error(toolkit: Toolkit, workers: Workers) -> None:
    nvjitlink = str(toolkit.require("nvjitlink").path)
    with pytest.raises(DeviceError, match=r"nvJitLink cannot link for sm_120: (.|\n)*  hint: the log tells"):
        workers.run(link, [], arch="sm_120", nvjitlink=nvjitlink, options=["-frobnicate"])


def test_an_unknown_architecture_ends_the_linkers_process_and_its_words_are_kept(toolkit: Toolkit) -> None:
    nvjitlink = str(toolkit.require("nvjitlink").path)
    with Workers(1) as pool, pytest.raises(DeviceError) as caught:
        pool.run(link, [], arch="sm_1", nvjitlink=nvjitlink)
    (found,) = caught.value.problems
    assert found.what == "Device code linked by nvJitLink: the worker process ended with exit code 1"
    assert "Unknown arch name 'compute_1'" in found.detail


def test_the_ltoir_of_a_probe_target_lists_definitions_and_gaps() -> None:
    ptx = (
        ".extern .func gone_impl\n()\n;\n"
        ".visible .func  (.param .b32 func_retval0) back_impl(\n\t.param .b32 back_impl_param_0\n)\n{\n}\n"
        ".visible .func struct_impl(\n\t.param .align 16 .b8 struct_impl_param_0[16],\n\t.param .b64 p\n)\n{\n}\n"
    )
    assert functions_of(ptx) == {
        "gone_impl": PtxFunction(False, "", ()),
        "back_impl": PtxFunction(True, ".b32", (".b32",)),
        "struct_impl": PtxFunction(True, "", (".b8[16]", ".b64")),
    }


def test_a_library_without_exports_is_only_compiled(toolkit: Toolkit, workers: Workers) -> None:
    made = make_ltoir(cuda(RELU_CUDA), library(), arch="sm_120", toolkit=toolkit, workers=workers)
    assert read_header(made).arch == 120


def test_a_hundred_exports_take_one_probe(toolkit: Toolkit, workers: Workers) -> None:
    exports = library(*(export(f"f{number}", "f32") for number in range(100)))
    text = "".join(RELU_CUDA.replace("relu", f"f{number}") for number in range(100))
    make_ltoir(cuda(text), exports, arch="sm_120", toolkit=toolkit, workers=workers)


def test_a_truncated_header_is_refused_at_every_length(toolkit: Toolkit, workers: Workers) -> None:
    made = make_ltoir(relu_ir(), RELU, arch="sm_120", toolkit=toolkit, workers=workers)
    for length in range(SIZE):
        with pytest.raises(DeviceError, match="LTOIR"):
            read_header(made[:length])
    assert read_header(made[:SIZE]).arch == 120


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not LTOIR: it begins with nothing, not ed 43 4e 7f"),
        (b"\x7fELF" + bytes(60), "not LTOIR: it begins with 7f 45 4c 46, not ed 43 4e 7f"),
        (b"// PTX text that is long enough to be one", "not LTOIR"),
        (bytes.fromhex("ed434e7f"), "LTOIR cut short: 4 bytes, the header alone has 28"),
        (bytes.fromhex("ed434e7f") + bytes(40), "LTOIR names no architecture: 0"),
        (bytes.fromhex("ed434e7f") + b"\xff" * 40, "LTOIR names no architecture: 65535"),
    ],
)
def test_what_is_no_ltoir_says_why(data: bytes, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as caught:
        read_header(data)
    assert all(problem.hint for problem in caught.value.problems)


def test_random_bytes_never_break_the_header_reader() -> None:
    source = random.Random(7)
    outcomes = set()
    for _ in range(5000):
        data = source.choice([b"", bytes.fromhex("ed434e7f")]) + source.randbytes(source.randrange(64))
        try:
            outcomes.add(read_header(data).arch > 0)
        except DeviceError:
            outcomes.add("refused")
    assert outcomes == {True, "refused"}
