"""What a call checks, the same on every kind of device. Launches here are CPU-emulated."""

from __future__ import annotations

import numpy as np
import pytest

from lowering.evidence_cases import permuted
from runtime.emulated import EmulatedDriver
from runtime.standin_machine import Mac
from runtime.standin_metal import installed
from tileir import kernels
from tilewright.runtime import CudaDevice, ShaderError, compile, open_metal_device
from tilewright.runtime.buffer import BufferView
from tilewright.tileir.types import Element


@pytest.fixture(scope="module", params=["cuda", "metal"])
def another(request):
    """Makes devices of one kind."""
    if request.param == "cuda":
        nvrtc = str(request.getfixturevalue("toolkit").require("nvrtc").path)
        yield lambda: CudaDevice(EmulatedDriver(), nvrtc=nvrtc, environ={})
    else:
        builder, folders = (request.getfixturevalue(name) for name in ("builder", "tmp_path_factory"))
        with installed(Mac(builder, folders.mktemp("mac"))):
            yield open_metal_device


@pytest.fixture(scope="module")
def device(another):
    return another()


@pytest.fixture(scope="module")
def axpb(device):
    shader = compile(device, kernels.axpb())
    assert shader, shader.metadata.error
    return shader


def error_of(call) -> str:
    with pytest.raises(ShaderError) as caught:
        call()
    return str(caught.value)


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


def test_a_buffer_of_another_device_is_refused(axpb, another):
    """B185."""
    other = another()
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


def test_a_dispatch_may_come_after_its_call_but_not_after_a_move(axpb, device):
    shader = compile(device, kernels.axpb())
    command = shader(device.buffer(1003), device.buffer(1003)).dispatch()
    shader.close()
    assert "closed" in error_of(lambda: device.stream() << command)


def test_sizes_and_indirect_dispatch_are_refused(axpb, device):
    """B25, B147."""
    call = axpb(device.buffer(1003), device.buffer(1003))
    assert "single static dispatch" in error_of(lambda: call.dispatch(device.buffer(3)))
    assert "single static dispatch" in error_of(lambda: call.dispatch(4, 1, 1))


def test_a_stream_of_another_device_is_refused(axpb, device, another):
    command = axpb(device.buffer(1003), device.buffer(1003)).dispatch()
    assert "another Device" in error_of(lambda: another().stream() << command)


def test_copies_of_another_size_or_type_are_refused(device):
    buffer = device.buffer(10)
    for array in (np.zeros(9, np.float32), np.zeros(10), np.zeros((10, 2), np.float32)[:, 0]):
        assert "does not fit" in error_of(lambda a=array: buffer.copy_from(a))


def test_a_copy_goes_to_an_array_that_may_be_written(device):
    """The memory of such an array may be a file's, or a constant."""
    buffer, host = device.buffer(10), np.zeros(10, np.float32)
    host.flags.writeable = False
    assert "may only be read cannot take a copy [copy-mismatch]" in error_of(lambda: buffer.copy_to(host))
    (device.stream() << buffer.copy_from(host)).synchronize()
