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
from tilewright.runtime.cuda_device import CudaDevice
from tilewright.tileir.builder import Builder
from tilewright.tileir.graph import Module
from tilewright.tileir.types import Element
from tilewright.tileir.usage import Usage


@pytest.fixture(scope="module")
def device(toolkit):
    return CudaDevice(EmulatedDriver(), nvrtc=str(toolkit.require("nvrtc").path), environ={})


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

    device = CudaDevice(EmulatedDriver(execute=execute), nvrtc=str(toolkit.require("nvrtc").path), environ={})
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


def test_a_failed_shader_says_its_error_when_called(device):
    """B186, B130."""
    shader = compile(device, kernels.axpb(), lowering="tirx")
    assert not shader
    assert shader.metadata.source == ""
    assert "without the optional TIRx bridge" in shader.metadata.error
    assert "without the optional TIRx bridge" in error_of(lambda: shader(device.buffer(1)))


def test_a_zero_sized_dispatch_launches_nothing(device):
    """B188."""
    shader = compile(device, kernels.axpb())
    artifact = replace(shader.artifact, grid=(0, 1, 1))
    empty = Shader(shader.metadata, device=device, artifact=artifact, kernel=shader.moved().kernel)
    before = len(device.driver.launches)
    device.stream() << empty(device.buffer(1003), device.buffer(1003)).dispatch()
    assert len(device.driver.launches) == before


def test_buffers_give_their_memory_back(device):
    before = len(device.driver.memory)
    buffer = device.buffer(10)
    assert len(device.driver.memory) == before + 1
    buffer.close()
    buffer.close()
    assert len(device.driver.memory) == before
    assert "the buffer is closed" in error_of(lambda: buffer.address)


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
    small = CudaDevice(EmulatedDriver(max_threads_per_block=64), environ={})
    assert (
        "exceeds the limits of the device, 64" in compile(small, kernels.axpb(), threads_per_group=128).metadata.error
    )
