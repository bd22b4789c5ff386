"""One function for each listed size in the LTOIR of both languages, around one body."""

from __future__ import annotations

from dataclasses import replace

import pytest

from device.samples import RELU, RELU_CUDA, cuda, export, library, relu_ir
from tilewright.device import probe
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceError, DeviceModule
from tilewright.device.sizes import with_sizes
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.toolchain.toolkit import Toolkit

LISTED = library(replace(RELU.exports[0], tile_shape=None, tile_shapes=(64, 128)))
OPAQUE = relu_ir("float %x, ptr %o", "store float %x, ptr %o")
TYPED = relu_ir("float %x, float* nocapture %o")


def functions(
    module: DeviceModule, exports: ExportSet, arch: str, toolkit: Toolkit, workers: Workers
) -> dict[str, probe.PtxFunction]:
    """What a linker sees of the LTOIR, asked for three sizes."""
    ltoir = make_ltoir(module, exports, arch=f"sm_{arch}", toolkit=toolkit, workers=workers)
    nvvm, libdevice, nvjitlink = (str(toolkit.require(name).path) for name in ("nvvm", "libdevice", "nvjitlink"))
    symbols = ("relu_impl__N64", "relu_impl__N128", "relu_impl__N256")
    ptx = workers.run(probe.probe, ltoir, module, symbols, arch, (nvvm, libdevice, nvjitlink))
    assert "call" not in ptx, "the body is inlined into each"
    return probe.functions_of(ptx)


@pytest.mark.parametrize(("module", "arch"), [(cuda(RELU_CUDA), "90"), (TYPED, "75"), (TYPED, "120"), (OPAQUE, "120")])
def test_each_listed_size_is_defined_and_no_other(
    module: DeviceModule, arch: str, toolkit: Toolkit, workers: Workers
) -> None:
    found = functions(module, LISTED, arch, toolkit, workers)
    assert {name: each.defined for name, each in found.items() if "__N" in name} == {
        "relu_impl__N64": True,
        "relu_impl__N128": True,
        "relu_impl__N256": False,
    }
    assert found["relu_impl__N64"].parameters == (".b32", ".b64")


def test_without_a_list_the_device_code_is_untouched() -> None:
    module = cuda(RELU_CUDA)
    assert with_sizes(module, RELU) is module
    assert with_sizes(module, library(replace(RELU.exports[0], tile_shape=None))) is module


def test_a_macro_of_the_users_does_not_take_the_place_of_a_symbol(toolkit: Toolkit, workers: Workers) -> None:
    module = cuda("#define relu_impl__N64 other\n" + RELU_CUDA + "// no newline at the end")
    assert functions(module, LISTED, "90", toolkit, workers)["relu_impl__N64"].defined


def test_a_warp_function_stays_convergent_in_ir() -> None:
    assert "define void @relu_impl__N64(float %a0, float* %a1) convergent nounwind {" in with_sizes(TYPED, LISTED).text


@pytest.mark.parametrize(
    "module", [relu_ir("double %x, float* %o", "ret void"), relu_ir("float %x, i32 %o", "ret void")]
)
def test_a_body_with_another_abi_is_named_once(module: DeviceModule, toolkit: Toolkit, workers: Workers) -> None:
    with pytest.raises(DeviceError) as caught:
        make_ltoir(module, LISTED, arch="sm_90", toolkit=toolkit, workers=workers)
    (problem,) = caught.value.problems
    assert "`relu`" in problem.what
    assert "__N" not in problem.what


def test_stray_warp_traffic_is_told_once_for_all_sizes(toolkit: Toolkit, workers: Workers) -> None:
    text = 'extern "C" __device__ void sum_impl(float x, float *o) { *o = __shfl_xor_sync(0xffffffffu, x, 1); }\n'
    exports = library(replace(export("sum", "f32"), tile_shape=None, tile_shapes=(64, 128)))
    with pytest.raises(DeviceError) as caught:
        make_ltoir(cuda(text), exports, arch="sm_90", toolkit=toolkit, workers=workers)
    (problem,) = caught.value.problems
    assert problem.what.startswith("`sum`: its threads do not call together")
