"""`tile.compile` hands kernel and options to the device and tells its answer; B29 where there is none to ask."""

from __future__ import annotations

import pytest

from runtime.emulated import EmulatedDriver
from tile import kernels
from tilewright import runtime, tile
from tilewright.runtime.cuda_device import CudaDevice

KERNEL = kernels.axpb.capture((1003,), (1003,))


@pytest.fixture
def device(toolkit):
    return CudaDevice(EmulatedDriver(), nvrtc=str(toolkit.require("nvrtc").path), environ={})


def test_a_kernel_is_compiled_with_options_by_name_or_value(device):
    shader = tile.compile(device, KERNEL, threads_per_group=64)
    assert shader
    assert shader.metadata.dispatch_size == (1024, 1, 1)
    assert "blocks of 64" in shader.metadata.realization
    assert tile.compile(device, KERNEL, runtime.CompileOptions(threads_per_group=96))
    both = tile.compile(device, KERNEL, runtime.CompileOptions(), fast_math=True)
    assert "as a value and by name" in both.metadata.error


def test_a_refusal_is_a_falsy_shader(device):
    shader = tile.compile(device, KERNEL, lowering="tirx")
    assert not shader
    assert "without the optional TIRx bridge" in shader.metadata.error


def test_a_device_without_a_factory_is_told():
    """B29."""
    shader = tile.compile(object(), KERNEL)
    assert not shader
    assert "unavailable on this device" in shader.metadata.error
    assert shader.metadata.source == ""
    with pytest.raises(TypeError, match="unavailable"):
        shader(1)
