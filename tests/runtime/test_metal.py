"""Metal devices behind a stand-in for a Mac, which compiles and runs the MSL. Evidence: "MSL, CPU-emulated"."""

from __future__ import annotations

import gc
import logging
from dataclasses import replace

import numpy as np
import pytest

from lowering.metal.cases import MPP, ROWS
from lowering.metal.kernels import native_gemm
from runtime.standin_metal import NO_CONTRACTION
from runtime.standin_msl import has_fma
from tile import kernels as dsl
from tileir import kernels
from tilewright import runtime, tile
from tilewright.lowering.metal.artifact import metal_files
from tilewright.lowering.metal.check.comparison import contents, largest_error
from tilewright.lowering.metal.lower import lower
from tilewright.runtime.metal.driver import macos_of
from tilewright.runtime.stored import stored_artifact
from tilewright.tile import f32
from tilewright.tileir.interpreter.run import evaluate


def launched(device, shader, given):
    """Every argument after one launch."""
    buffers = [device.buffer_of(array) for array in given]
    found = [np.empty_like(array) for array in given]
    stream = device.stream() << shader(*buffers).dispatch()
    for buffer, host in zip(buffers, found, strict=True):
        stream << buffer.copy_to(host)
    stream.synchronize()
    return found


@pytest.mark.parametrize(
    ("form", "options", "make", "tolerance"),
    [
        ("metal reference", runtime.CompileOptions(), lambda: dsl.axpb.capture((1003,), (1003,)).function, 1e-6),
        ("metal SIMD-group rows", ROWS, lambda: dsl.softmax.capture((5, 300), (5, 300)).function, 2e-5),
        ("metal native MPP", MPP, lambda: native_gemm((37, 53, 23), (32, 16)), 1e-4),
    ],
)
def test_each_form_computes_what_the_interpreter_does(mac, form, options, make, tolerance):
    function = make()
    device = runtime.open_metal_device()
    shader = runtime.compile(device, function, options)
    assert shader.metadata.realization.startswith(form), shader.metadata.error
    given = contents(function, {}, 3)
    expected = evaluate(function, given)
    for got, want in zip(launched(device, shader, given), expected, strict=True):
        assert largest_error(got, want, tolerance) <= 1.0
    source, asked = mac.compiled[-1]
    assert source == shader.artifact.source
    assert asked.version == (0x40000 if options is MPP else 0x30000)
    assert (asked.math_mode, asked.functions, asked.is_fast) == (0, 1, False)


def test_arguments_go_to_their_slots_with_view_offsets(mac):
    """All in one buffer, with what lies between the views left as it is."""
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    host = np.full(2100, 17, np.float32)
    host[3:1006] = np.linspace(-1, 1, 1003)
    buffer = device.buffer_of(host)
    found = np.empty_like(host)
    stream = device.stream()
    stream << shader(buffer.view(3, 1003), buffer.view(1006, 1003)).dispatch() << buffer.copy_to(found)
    stream.synchronize()
    x = host[3:1006]
    np.testing.assert_allclose(found[1006:2009], np.where(x > 0, x * 1.25 - 0.5, -x), atol=1e-7)
    np.testing.assert_array_equal(np.delete(found, slice(1006, 2009)), np.delete(host, slice(1006, 2009)))


def test_commands_of_a_stream_happen_in_order(mac):
    """The stand-in runs a launch when it is waited for: a copy that does not wait would see, or leave, other data."""
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    x, y = device.buffer(1003), device.buffer(1003)
    first, second = np.empty(1003, np.float32), np.empty(1003, np.float32)
    stream = device.stream()
    call = shader(x, y)
    stream << x.copy_from(np.full(1003, 2, np.float32)) << call.dispatch() << y.copy_to(first)
    stream << x.copy_from(np.full(1003, -3, np.float32)) << call.dispatch()
    stream << x.copy_from(np.full(1003, 9, np.float32)) << y.copy_to(second)
    stream.synchronize()
    assert (first == 2.0).all()
    assert (second == 3.0).all()
    assert device.gpu_seconds(stream) == 0.5


def test_buffers_are_owned_by_their_handle_and_by_what_runs(mac):
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    gc.collect()
    before = len(mac.buffers)
    x, y = device.buffer_of(np.full(1003, 2, np.float32)), device.buffer(1003)
    stream = device.stream() << shader(x, y).dispatch()
    x.close()
    x.close()
    gc.collect()
    assert len(mac.buffers) == before + 2
    found = np.empty(1003, np.float32)
    (stream << y.copy_to(found)).synchronize()
    assert (found == 2.0).all()
    gc.collect()
    assert len(mac.buffers) == before + 1
    del y
    gc.collect()
    assert len(mac.buffers) == before


def test_streams_end(mac):
    device = runtime.open_metal_device()
    stream = device.stream()
    stream.synchronize()
    stream.close()
    gc.collect()
    assert len(mac.queues) == 0
    with pytest.raises(runtime.ShaderError, match="is closed, or of another device"):
        stream.synchronize()


def test_other_memory_cannot_be_bound(mac):
    device = runtime.open_metal_device()
    buffer = device.buffer(100)
    assert device.external(buffer.address + 40, 90).address == buffer.address + 40
    with pytest.raises(runtime.ShaderError, match="are in no buffer of stand-in"):
        device.external(buffer.address + 40, 91)


def test_a_pipeline_is_kept_by_its_compile_key(mac):
    """C.9. Exact kernels cost a probe, once a device and way to compile."""
    device = runtime.open_metal_device()
    kernel = dsl.axpb.capture((1003,), (1003,))
    for _ in range(2):
        assert runtime.compile(device, kernel)
        assert len(mac.compiled) == 2
    assert runtime.compile(device, kernel, threads_per_group=64)
    assert len(mac.compiled) == 3
    assert runtime.compile(device, kernel, fmad=False)
    assert len(mac.compiled) == 5
    assert [NO_CONTRACTION in source for source, _ in mac.compiled] == [False, False, False, True, True]


def test_fast_math_is_compiled_as_asked_for_and_not_probed(mac):
    assert runtime.compile(runtime.open_metal_device(), kernels.axpb(), fast_math=True)
    ((_, asked),) = mac.compiled
    assert (asked.math_mode, asked.functions) == (2, 0)


@pytest.mark.parametrize(("fast", "on"), [(False, False), (True, True)])
def test_before_macos_15_one_switch_is_set(mac_of, fast, on):
    mac = mac_of(os=14)
    assert runtime.compile(runtime.open_metal_device(), kernels.axpb(), fast_math=fast)
    assert mac.compiled[-1][1].fast_math is on


@tile.kernel
def squares(x: tile.In[f32, 1], z: tile.In[f32, 1], y: tile.Out[f32, 1]):
    """x * x - z: one rounding or two."""
    e = tile.axis("e", 32)
    for _ in tile.parallel(1):
        y[0, e] = x[0, e] * x[0, e] - z[0, e]


def test_a_compiler_warning_is_logged(mac_of, caplog):
    mac_of(warns="unused variable 'i'")
    with caplog.at_level(logging.WARNING, "tilewright.runtime"):
        assert runtime.compile(runtime.open_metal_device(), kernels.axpb())
    assert "unused variable 'i'" in caplog.text


def test_a_built_shader_runs_from_its_two_files(mac):
    made = lower(dsl.softmax.capture((5, 300), (5, 300)).function, ROWS)
    files = metal_files(made, "softmax")
    read = stored_artifact(files["softmax.json"], files["softmax.metal"], "softmax.json")
    assert read == made
    device = runtime.open_metal_device()
    given = contents(made.function, {}, 5)
    (_, got), (_, want) = launched(device, device.shader(read), given), evaluate(made.function, given)
    assert largest_error(got, want, 2e-5) <= 1.0


def test_a_prebuilt_library_is_loaded_and_not_compiled(mac, tmp_path):
    made = lower(kernels.axpb())
    file = tmp_path / "axpb.metallib"
    file.write_text(made.source)
    device = runtime.open_metal_device()
    shader = device.prebuilt(made, file)
    assert mac.compiled == []
    given = contents(made.function, {}, 5)
    (_, got), (_, want) = launched(device, shader, given), evaluate(made.function, given)
    assert largest_error(got, want, 1e-6) <= 1.0


def test_the_gpu_says_what_kernels_are_made_for(mac_of):
    mac_of(family=9, reported_os=16, max_threads=512, threadgroup_memory=65536)
    device = runtime.open_metal_device()
    assert device.limits == runtime.MetalLimits(9, 26, 32, 512, 65536)
    assert device.description == "stand-in (Apple9, macOS 26)"


def test_a_version_told_to_older_programs_is_the_true_one():
    assert [macos_of(each) for each in (13, 15, 16, 17, 26, 27)] == [13, 15, 26, 27, 26, 27]


def test_a_zero_sized_dispatch_launches_nothing(mac):
    """B188."""
    device = runtime.open_metal_device()
    shader = runtime.compile(device, kernels.axpb())
    empty = runtime.Shader(
        shader.metadata, device=device, artifact=replace(shader.artifact, grid=(0, 1, 1)), kernel=shader.kernel
    )
    before = mac.calls.count("commandBuffer")
    device.stream() << empty(device.buffer(1003), device.buffer(1003)).dispatch()
    assert mac.calls.count("commandBuffer") == before


@pytest.mark.skipif(not has_fma(), reason="this CPU has no fused multiply-add to show contraction with")
def test_separate_roundings_are_kept_where_they_are_asked_for(mac):
    device = runtime.open_metal_device()
    given = [np.full(32, 1 + 2.0**-12, np.float32), np.full(32, 1 + 2.0**-11, np.float32), np.zeros(32, np.float32)]
    kernel = squares.capture((32,), (32,), (32,))
    fused, apart = (launched(device, runtime.compile(device, kernel, fmad=fmad), given)[2][0] for fmad in (True, False))
    assert (fused, apart) == (2.0**-24, 0.0)
