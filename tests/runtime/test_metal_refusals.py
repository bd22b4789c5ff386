"""What a Metal device refuses, on every kind of machine. The Mac is a stand-in; the refusals are of the real code."""

from __future__ import annotations

import platform
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import pytest

from lowering.metal.cases import MPP, ROWS
from lowering.metal.kernels import native_gemm
from runtime.standin_msl import has_fma
from tile import kernels as dsl
from tileir import kernels
from tilewright import runtime
from tilewright.lowering.artifact import Argument
from tilewright.lowering.cuda.lower import lower as lower_cuda
from tilewright.lowering.metal.artifact import metal_files
from tilewright.lowering.metal.lower import lower
from tilewright.runtime.metal.compiler import probe_problems
from tilewright.runtime.stored import stored_artifact
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage

ROW_KERNEL = dsl.softmax.capture((5, 300), (5, 300))
PRODUCT = native_gemm((32, 32, 32), (32, 32))


def error_of(call) -> str:
    with pytest.raises(runtime.ShaderError) as caught:
        call()
    return str(caught.value)


@pytest.fixture
def on_a_mac_without_pyobjc():
    """macOS as far as the runtime asks; `import Metal` fails as it does there without the extra."""
    with mock.patch.dict(sys.modules, {"Metal": None}), mock.patch("platform.system", return_value="Darwin"):
        yield


@pytest.mark.skipif(platform.system() == "Darwin", reason="this is macOS")
def test_another_system_is_named_with_what_to_install_on_a_mac():
    text = error_of(runtime.open_metal_device)
    assert text == (
        f"error: Metal shaders run on macOS only, and this is {platform.system()} [no-macos]\n"
        "  hint: on a Mac: pip install 'scons-tilelib[metal]'"
    )


def test_the_missing_extra_is_named_with_its_command(on_a_mac_without_pyobjc):
    text = error_of(runtime.open_metal_device)
    assert "PyObjC's Metal framework cannot be imported" in text
    assert text.endswith("hint: pip install 'scons-tilelib[metal]'")


def test_the_runtime_is_imported_without_pyobjc():
    code = "import sys, tilewright.runtime; print({'Metal', 'objc', 'Foundation'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("set()\n", "")


@pytest.mark.parametrize(("gpus", "number"), [(0, 0), (1, 1), (1, -1)])
def test_a_gpu_that_is_not_there_is_named(mac_of, gpus, number):
    mac_of(gpus=gpus)
    assert f"there is no Metal GPU {number} [no-gpu]" in error_of(lambda: runtime.open_metal_device(number))


LIMITS = [
    (PRODUCT, MPP, {"family": 6}, "needs GPU family 7 (Apple7) or newer, the device is of family 6"),
    (PRODUCT, MPP, {"os": 15}, "needs Metal 4: it requires macOS/iOS 26, the device has 15"),
    (PRODUCT, MPP, {"max_threads": 64}, ""),
    (PRODUCT, replace(MPP, threads_per_group=128), {"max_threads": 64}, "exceeds the device limits"),
    (kernels.axpb(), runtime.CompileOptions(), {"os": 12}, "it requires macOS 13, the device has 12"),
]


@pytest.mark.parametrize(("kernel", "options", "limits", "expected"), LIMITS)
def test_limits_by_hand_refuse_a_kernel_before_pyobjc_is_asked(mac, kernel, options, limits, expected):
    device = runtime.open_metal_device(limits=replace(runtime.MetalLimits(), **limits))
    assert mac.calls == []
    shader = runtime.compile(device, kernel, options)
    assert bool(shader) is not bool(expected)
    assert expected in shader.metadata.error
    assert bool(mac.calls) is not bool(expected)


@pytest.mark.parametrize(("kernel", "options", "limits", "expected"), LIMITS)
def test_the_gpu_refuses_the_same_by_what_it_says(mac_of, kernel, options, limits, expected):
    """B172, B173."""
    mac = mac_of(**limits)
    shader = runtime.compile(runtime.open_metal_device(), kernel, options)
    assert expected in shader.metadata.error
    assert bool(mac.compiled) is not bool(expected)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"family": 6}, "needs GPU family 7"),
        ({"thread_width": 16}, "SIMD-groups of 32: a width of 16"),
        ({"max_threads": 32}, "threads a threadgroup exceeds the device limits, 32"),
        ({"threadgroup_memory": 4}, "bytes of threadgroup memory exceeds the device limits, 4"),
    ],
)
def test_an_artifact_of_elsewhere_is_checked_against_limits_by_hand(mac, limits, expected):
    """A built shader was made for the common device."""
    made = lower(ROW_KERNEL.function, replace(ROWS, threads_per_group=128))
    device = runtime.open_metal_device(limits=replace(runtime.MetalLimits(), **limits))
    assert expected in error_of(lambda: device.shader(made))
    assert mac.calls == []


def test_limits_by_hand_do_not_widen_what_the_gpu_allows(mac_of):
    mac = mac_of(family=6)
    device = runtime.open_metal_device(limits=runtime.MetalLimits(family=9))
    assert "the device is of family 6" in runtime.compile(device, PRODUCT, MPP).metadata.error
    assert mac.compiled == []


@pytest.mark.parametrize(("options", "kernel"), [(ROWS, ROW_KERNEL), (MPP, PRODUCT)], ids=["rows", "native product"])
def test_a_pipeline_of_another_width_is_refused(mac_of, options, kernel):
    """B173; the reference form has no SIMD-groups."""
    mac_of(width=64)
    device = runtime.open_metal_device()
    assert "SIMD-groups of 32: a width of 64 exceeds the limits" in (
        runtime.compile(device, kernel, options).metadata.error
    )
    assert runtime.compile(device, kernels.axpb())


def test_what_a_pipeline_states_is_checked(mac_of):
    """B173: the device allows 1024 threads, the pipeline of this kernel fewer, as registers may ask for."""
    mac = mac_of()
    device = runtime.open_metal_device()
    assert runtime.compile(device, kernels.axpb())
    mac.max_threads = 64
    text = runtime.compile(device, kernels.axpb(), threads_per_group=128).metadata.error
    assert "128 threads a threadgroup exceeds the device limits, 64 at most" in text
    mac.max_threads = 1024
    made = lower(ROW_KERNEL.function, replace(ROWS, threads_per_group=128))
    assert made.threadgroup_memory > 0
    device.limits = device.driver.limits = replace(device.limits, threadgroup_memory=made.threadgroup_memory - 4)
    text = error_of(lambda: device.shader(replace(made, threadgroup_memory=0)))
    assert f"{made.threadgroup_memory} bytes of threadgroup memory exceeds the device limits" in text


def test_more_buffers_than_slots_are_refused(mac):
    made = lower(kernels.axpb())
    many = replace(
        made,
        buffer_arguments=tuple(range(32)),
        arguments=tuple(Argument(f"p{place}", Element.F32, 4, Usage.READ) for place in range(32)),
    )
    text = error_of(lambda: runtime.open_metal_device().shader(many))
    assert "binds 32 buffers, 31 at most [buffer-count]" in text


def test_what_the_compiler_says_is_carried_whole(mac):
    made = lower(kernels.axpb())
    broken = replace(made, source=made.source.replace("if (linear", "if (missing", 1))
    assert broken != made
    device = runtime.open_metal_device()
    text = error_of(lambda: device.shader(broken))
    assert "`tile_axpb`: the Metal compiler refuses the source (MSL 3.0) [msl-rejected]" in text
    assert "use of undeclared identifier 'missing'" in text
    assert "2 errors generated" in text
    line = next(number for number, each in enumerate(broken.source.splitlines(), 1) if "missing" in each)
    assert f"tile_axpb.metal:{line}:" in text
    apart = error_of(lambda: device.shader(replace(broken, fmad=False)))
    assert f":{line}:" in apart


def test_a_refused_product_may_be_compiled_offline(mac):
    """One public project could link MPP with the offline compiler only."""
    made = lower(PRODUCT, MPP)
    text = error_of(lambda: runtime.open_metal_device().shader(replace(made, source=made.source.replace("op.", "up."))))
    assert "refuses the source (MSL 4.0) [msl-rejected]" in text
    assert "hint: Xcode's compiler may take it: device.prebuilt(artifact, Path('x.metallib'))" in text


def test_a_library_without_the_kernel_and_a_pipeline_that_is_not_made_are_named(mac):
    device = runtime.open_metal_device()
    made = lower(kernels.axpb())
    assert runtime.compile(device, kernels.axpb())
    text = error_of(lambda: device.shader(replace(made, entry="other")))
    assert "the Metal library has no function `other` [no-function]" in text
    assert "it has: tile_axpb" in text
    mac.no_pipeline = "Compiler encountered an internal error"
    text = error_of(lambda: device.shader(replace(made, debug=True)))
    assert "`tile_axpb`: Metal makes no pipeline of the kernel [no-pipeline]" in text
    assert "Compiler encountered an internal error" in text


def test_a_compiler_that_ignores_safe_math_is_found_and_not_used(mac_of):
    """B174: the probe is compiled with -ffast-math by clang, and its numbers give it away."""
    mac = mac_of(ignores_math_mode=True)
    device = runtime.open_metal_device()
    for _ in range(2):
        text = runtime.compile(device, kernels.axpb()).metadata.error
        assert "it compiles with fast math where safe math was asked for [fast-math-found]" in text
    assert all("tilewright_math_probe" in source for source, _ in mac.compiled)
    assert runtime.compile(device, kernels.axpb(), fast_math=True)


@pytest.mark.skipif(not has_fma(), reason="this CPU has no fused multiply-add to show contraction with")
def test_a_compiler_that_fuses_what_was_to_stay_apart_is_found(mac_of):
    mac_of(ignores_contraction=True)
    device = runtime.open_metal_device()
    text = runtime.compile(device, kernels.axpb(), fmad=False).metadata.error
    assert "it fuses products and sums where separate roundings were asked for" in text
    assert runtime.compile(device, kernels.axpb())


@pytest.mark.parametrize(
    ("found", "fmad", "faults"),
    [
        ((0.0, 1.0, 0.0), False, 0),
        ((0.0, 1.0, 2.0**-24), True, 0),
        ((0.0, 1.0, 2.0**-24), False, 1),
        ((1.0, 1.0, 0.0), False, 1),
        ((0.0, 0.0, 0.0), True, 1),
        ((float("nan"), 1.0, 0.0), True, 1),
        ((1.0, 0.0, 2.0**-24), False, 2),
    ],
)
def test_each_result_of_the_probe_counts_alone(found, fmad, faults):
    """A sum that was reassociated, a NaN taken for equal, a fused product."""
    assert len(probe_problems(found, fmad=fmad)) == faults


def test_a_launch_that_fails_says_what_the_gpu_said(mac):
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    mac.fails_launches = True
    stream = device.stream() << shader(device.buffer(1003), device.buffer(1003)).dispatch()
    text = error_of(stream.synchronize)
    assert "the GPU failed in a launch [launch-failed]\n    Caused GPU Timeout Error" in text
    stream.synchronize()


def test_an_exception_of_the_frameworks_is_no_traceback_and_leaves_no_open_encoder(mac):
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    x, y = device.buffer(1003), device.buffer(1003)
    stream = device.stream()
    call = (shader.kernel, (1, 1, 1), (2048, 1, 1), (x.address, y.address), stream.handle)
    assert "cannot launch grid (1, 1, 1) block (2048, 1, 1)" in error_of(lambda: device.driver.launch(*call))
    assert mac.open_encoders == 0


def test_memory_that_there_is_not_is_refused(mac):
    device = runtime.open_metal_device()
    text = error_of(lambda: device.buffer(1 << 30))
    assert text == f"error: cannot get {1 << 32} bytes on the GPU [driver-error]"


def test_a_buffer_closed_before_the_launch_is_named(mac):
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    x, y = device.buffer(1003), device.buffer(1003)
    command = shader(x, y).dispatch()
    x.close()
    assert "are in no buffer of" in error_of(lambda: device.stream() << command)


def test_a_stable_name_is_refused(mac):
    text = runtime.compile(runtime.open_metal_device(), kernels.axpb(), name="axpb").metadata.error
    assert "pipelines of Metal are kept in the process only [shader-name]" in text


def test_artifacts_of_the_other_backend_are_refused(mac):
    text = error_of(lambda: runtime.open_metal_device().shader(lower_cuda(kernels.axpb())))
    assert "Unsupported artifact format 'cuda' on a Metal device" in text


def test_a_library_file_that_is_not_there_is_named(mac, tmp_path):
    device = runtime.open_metal_device()
    text = error_of(lambda: device.prebuilt(lower(kernels.axpb()), tmp_path / "none.metallib"))
    assert "none.metallib` [metallib-not-loaded]" in text
    assert "The file \u201cnone.metallib\u201d couldn\u2019t be opened" in text


def test_edited_msl_is_not_what_its_description_describes():
    files = metal_files(lower(kernels.axpb()), "axpb")
    text = error_of(lambda: stored_artifact(files["axpb.json"], files["axpb.metal"] + b"\n", "axpb.json"))
    assert "`axpb.json` describes another text than the MSL beside it" in text


@pytest.mark.parametrize("place", [-1, 2])
def test_a_description_with_a_slot_of_no_parameter_describes_no_shader(place):
    files = metal_files(lower(kernels.axpb()), "axpb")
    edited = files["axpb.json"].replace(b'"parameter": 1', f'"parameter": {place}'.encode())
    assert edited != files["axpb.json"]
    assert "slots of parameters" in error_of(lambda: stored_artifact(edited, files["axpb.metal"], "axpb.json"))
