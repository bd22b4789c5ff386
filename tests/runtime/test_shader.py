"""Shader handles: what they tell, what a call checks, and a launch end to end. Launches here are CPU-emulated."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from lowering.evidence_cases import permuted
from runtime.emulated import EmulatedDriver
from tileir import kernels
from tilewright.runtime import Shader, ShaderError, compile
from tilewright.runtime.buffer import BufferView
from tilewright.runtime.device import Device
from tilewright.tileir.builder import Builder
from tilewright.tileir.graph import Module
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage


@pytest.fixture(scope="module")
def device(toolkit):
    return Device(EmulatedDriver(), nvrtc=str(toolkit.require("nvrtc").path), environ={})


@pytest.fixture(scope="module")
def axpb(device):
    shader = compile(device, kernels.axpb())
    assert shader
    return shader


def error_of(call) -> str:
    with pytest.raises(ShaderError) as caught:
        call()
    return str(caught.value)


def test_metadata_tells_geometry_arguments_and_route(axpb):
    metadata = axpb.metadata
    assert metadata.dispatch_size == (1024, 1, 1)
    assert [(each.name, each.element, each.minimum_bytes, each.usage) for each in metadata.arguments] == [
        ("x", Element.F32, 4012, Usage.READ),
        ("y", Element.F32, 4012, Usage.WRITE),
    ]
    assert metadata.error == ""
    assert metadata.disjoint_writes
    assert "__global__" in metadata.source
    assert metadata.realization.startswith("cuda reference, ordered: element grid")


def test_arguments_go_to_their_slots_with_view_offsets(device):
    shader = compile(device, permuted())
    assert shader.artifact.buffer_arguments == (0, 2, 3)
    buffer = device.buffer(1000)
    a, unused, c, d = (buffer.view(100 * place + 7, 97) for place in range(4))
    device.stream() << shader(a, unused, c, d).dispatch()
    assert device.driver.launches[-1] == ("tile_four", (1, 1, 1), (128, 1, 1), (a.address, c.address, d.address))
    assert a.address == buffer.address + 28


def test_a_launch_computes_on_views_of_one_buffer(toolkit):
    """CPU-emulated: what the driver is told to launch is done by hand, on the addresses it got."""

    def execute(entry, addresses):
        x, y = (np.ctypeslib.as_array((ctypes.c_float * 1003).from_address(address)) for address in addresses)
        y[:] = np.where(x > 0, x * 1.25 - 0.5, -x)

    device = Device(EmulatedDriver(execute=execute), nvrtc=str(toolkit.require("nvrtc").path), environ={})
    shader = compile(device, kernels.axpb())
    host = np.full(2100, np.nan, np.float32)
    host[3:1006] = np.linspace(-1, 1, 1003)
    buffer = device.buffer_of(host)
    found = np.empty_like(host)
    views = buffer.view(3, 1003), buffer.view(1006, 1003)
    stream = device.stream()
    stream << shader(*views).dispatch() << buffer.copy_to(found)
    stream.synchronize()
    x = host[3:1006]
    np.testing.assert_allclose(found[1006:2009], np.where(x > 0, x * 1.25 - 0.5, -x))
    assert np.isnan(found[2009:]).all()


def test_a_wrong_argument_count_is_refused(axpb, device):
    """B180."""
    text = error_of(lambda: axpb(device.buffer(1003)))
    assert "`tile_axpb`: argument count is 1, not 2" in text
    assert "pass x, y" in text


def test_a_wrong_element_type_is_refused(axpb, device):
    """B181."""
    text = error_of(lambda: axpb(device.buffer(1003, Element.I32), device.buffer(1003)))
    assert "argument 0 `x` has type i32, not f32 [argument-type]" in text


def test_what_is_no_buffer_is_refused(axpb, device):
    assert "is neither a buffer nor a view" in error_of(lambda: axpb(3, device.buffer(1003)))


def test_a_view_below_the_footprint_is_refused_and_one_at_it_is_not(axpb, device):
    """B182."""
    big = device.buffer(1003)
    text = error_of(lambda: axpb(big, device.buffer(1002)))
    assert "argument 1 `y` has a size of 4008 bytes, needs 4012" in text
    axpb(big, device.buffer(1003))


def test_an_unused_parameter_is_still_checked(device):
    """C.3: it stays part of the signature."""
    shader = compile(device, permuted())
    buffers = [device.buffer(97) for _ in range(4)]
    buffers[1] = device.buffer(96)
    assert "argument 1 `unused` has a size of 384 bytes" in error_of(lambda: shader(*buffers))


def test_overlap_with_a_written_range_is_refused_and_touching_ranges_are_not(axpb, device):
    """B183, B184."""
    buffer = device.buffer(3000)
    text = error_of(lambda: axpb(buffer.view(0, 1003), buffer.view(1002, 1003)))
    assert "writable arguments 0 and 1 overlap (`x` and `y`)" in text
    axpb(buffer.view(0, 1003), buffer.view(1003, 1003))
    axpb(buffer.view(1003, 1003), buffer.view(0, 1003))


def test_overlap_is_found_by_address_across_buffer_objects(axpb, device):
    """B183."""
    owner = device.buffer(2006)
    alias = device.external(owner.address + 4 * 500, 1003)
    assert "overlap" in error_of(lambda: axpb(owner.view(0, 1003), alias))


def test_inputs_may_overlap(device):
    """B184."""
    shader = compile(device, permuted())
    buffer = device.buffer(97)
    shader(device.buffer(97), device.buffer(97), buffer, buffer)


def test_a_buffer_of_another_device_is_refused(axpb, toolkit):
    """B185."""
    other = Device(EmulatedDriver(), environ={})
    text = error_of(lambda: axpb(other.buffer(1003), other.buffer(1003)))
    assert text.count("is a buffer of another Device") == 2


def test_views_off_the_element_are_refused(axpb, device):
    """B187."""
    buffer = device.buffer(4000)
    for offset, size in ((2, 4012), (0, 4013), (-4, 4012), (16000, 4012), (0, 0)):
        text = error_of(lambda o=offset, s=size: axpb(BufferView(buffer, o, s, Element.F32), device.buffer(1003)))
        assert "Invalid buffer view" in text
    for offset, count in ((-1, 5), (0, 4001), (3999, 2), (0, 0)):
        assert "Invalid buffer view" in error_of(lambda o=offset, c=count: buffer.view(o, c))


def test_a_moved_from_shader_is_refused_and_the_new_handle_works(device):
    """B186."""
    shader = compile(device, kernels.axpb())
    loaded = device.driver.loaded
    fresh = shader.moved()
    a, b = device.buffer(1003), device.buffer(1003)
    assert not shader
    assert "the shader was moved from" in error_of(lambda: shader(a, b))
    assert "the shader was moved from" in error_of(shader.moved)
    shader.close()
    assert device.driver.loaded == loaded
    device.stream() << fresh(a, b).dispatch()
    fresh.close()
    assert device.driver.loaded == loaded - 1
    assert "the shader is closed" in error_of(lambda: fresh(a, b))


def test_a_dispatch_may_come_after_its_call_but_not_after_a_move(axpb, device):
    shader = compile(device, kernels.axpb())
    command = shader(device.buffer(1003), device.buffer(1003)).dispatch()
    shader.close()
    assert "closed" in error_of(lambda: device.stream() << command)


def test_a_failed_shader_says_its_error_when_called(device):
    """B186, B130."""
    shader = compile(device, kernels.axpb(), lowering="tirx")
    assert not shader
    assert shader.metadata.source == ""
    assert "without the optional TIRx bridge" in shader.metadata.error
    assert "without the optional TIRx bridge" in error_of(lambda: shader(device.buffer(1)))


def test_sizes_and_indirect_dispatch_are_refused(axpb, device):
    """B25, B147."""
    call = axpb(device.buffer(1003), device.buffer(1003))
    assert "single static dispatch" in error_of(lambda: call.dispatch(device.buffer(3)))
    assert "single static dispatch" in error_of(lambda: call.dispatch(4, 1, 1))


def test_a_zero_sized_dispatch_launches_nothing(device):
    """B188."""
    shader = compile(device, kernels.axpb())
    artifact = replace(shader.artifact, grid=(0, 1, 1))
    empty = Shader(shader.metadata, device=device, artifact=artifact, kernel=shader.moved().kernel)
    before = len(device.driver.launches)
    device.stream() << empty(device.buffer(1003), device.buffer(1003)).dispatch()
    assert len(device.driver.launches) == before


def test_a_stream_of_another_device_is_refused(axpb, device):
    command = axpb(device.buffer(1003), device.buffer(1003)).dispatch()
    assert "another Device" in error_of(lambda: Device(EmulatedDriver(), environ={}).stream() << command)


def test_buffers_give_their_memory_back(device):
    before = len(device.driver.memory)
    buffer = device.buffer(10)
    assert len(device.driver.memory) == before + 1
    buffer.close()
    buffer.close()
    assert len(device.driver.memory) == before
    assert "the buffer is closed" in error_of(lambda: buffer.address)


def test_copies_of_another_size_or_type_are_refused(device):
    buffer = device.buffer(10)
    for array in (np.zeros(9, np.float32), np.zeros(10), np.zeros((10, 2), np.float32)[:, 0]):
        assert "does not fit" in error_of(lambda a=array: buffer.copy_from(a))


def test_a_device_without_a_factory_is_named():
    """B29."""
    shader = compile(object(), kernels.axpb())
    assert not shader
    assert "unavailable on this device" in shader.metadata.error


def test_a_kernel_that_does_not_verify_is_invalid_tileir(device):
    """B18, B30."""
    module = Module()
    build = Builder(module.function(""))
    assert "invalid TileIR" in compile(device, build.function).metadata.error
    detached = kernels.axpb()
    detached.module = None
    assert "invalid TileIR" in compile(device, detached).metadata.error


def test_what_is_no_kernel_is_named(device):
    assert "is no captured kernel" in compile(device, print).metadata.error


def test_a_misspelt_option_gets_a_suggestion(device):
    shader = compile(device, kernels.axpb(), thread_per_group=64)
    assert "`thread_per_group` is no option of tile.compile" in shader.metadata.error
    assert "did you mean threads_per_group?" in shader.metadata.error


def test_options_are_read_during_the_call_only(device):
    """B195."""
    options = {"threads_per_group": 64}
    shader = compile(device, kernels.axpb(), **options)
    options["threads_per_group"] = 7
    assert shader.artifact.block == (64, 1, 1)
    device.stream() << shader(device.buffer(1003), device.buffer(1003)).dispatch()


def test_a_device_limits_the_block():
    """B137."""
    small = Device(EmulatedDriver(max_threads_per_block=64), environ={})
    assert (
        "exceeds the limits of the device, 64" in compile(small, kernels.axpb(), threads_per_group=128).metadata.error
    )
