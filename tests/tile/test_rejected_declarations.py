"""What the DSL refuses of definitions, declarations and captures (B2, B9, B10, B17, C.1); see refusals.py."""

from __future__ import annotations

import pytest

from tile import kernels
from tile.refusals import E_AXIS, checked, copy_kernel, refused_body
from tilewright import tile
from tilewright.tile import CaptureError, f32


def test_a_capture_inside_a_capture():
    """B2."""

    def body(x, y):
        kernels.axpb.capture((8,), (8,))  # fault

    assert "nested capture" in refused_body("nested-capture", body)


def test_a_capture_after_a_failed_one_works():
    """B2: a failure leaves no capture behind."""

    def body(x, y):
        raise KeyError

    with pytest.raises(KeyError):
        copy_kernel(body).capture((64,), (64,))
    assert kernels.axpb.capture((8,), (8,)).name == "axpb"


@pytest.mark.parametrize(
    "function",
    [lambda *views: None, lambda *, x: None, lambda **views: None, lambda x=(): None],
    ids=["star", "keyword-only", "double-star", "default"],
)
def test_parameters_without_a_place_in_the_signature_order(function):
    """B9."""
    with pytest.raises(CaptureError, match="signature order") as caught:
        tile.kernel(function)
    assert caught.value.problems[0].where.file == __file__


def test_a_parameter_given_twice():
    """B9."""
    with pytest.raises(CaptureError) as caught:
        kernels.axpb.capture((8,), (8,), x=(8,))  # fault
    assert "not unique" in checked("shape-repeated", caught.value)


@pytest.mark.parametrize(("shapes", "named"), [(((8,),), {}), (((8,),) * 3, {}), (((8,),), {"z": (8,)})])
def test_shapes_that_do_not_match_the_parameters(shapes, named):
    """B9: the call to write is offered."""
    with pytest.raises(CaptureError) as caught:
        kernels.axpb.capture(*shapes, **named)  # fault
    assert "capture(x=(...), y=(...))" in checked("shape-count", caught.value)


def test_a_shape_of_another_rank():
    """B9."""
    with pytest.raises(CaptureError) as caught:
        kernels.axpb.capture((8, 8), (8,))  # fault
    assert "rank 1" in checked("shape-rank", caught.value)


def test_a_parameter_that_is_not_declared():
    """B9."""

    with pytest.raises(CaptureError, match=r"tile\.In\[tile\.f32, 1\]"):

        @tile.kernel
        def kernel(x):
            pass


@pytest.mark.parametrize("item", [f32, (f32,), (f32, -1), ("f32", 1), (1, f32)])
def test_a_malformed_declaration(item):
    """B9."""
    with pytest.raises(CaptureError) as caught:
        tile.In[item]  # fault
    assert "tile.In[tile.f32, 2]" in checked("parameter-type", caught.value)


def test_an_annotation_that_names_nothing():
    """B9."""

    def kernel(x: tile.Inn[f32, 1]):
        pass

    with pytest.raises(CaptureError, match="Inn"):
        tile.kernel(kernel)


def test_a_negative_extent_of_an_axis():
    """B10."""
    with pytest.raises(CaptureError) as caught:
        tile.axis("n", -1)  # fault
    assert "negative" in checked("negative-extent", caught.value)


def test_a_negative_extent_of_a_nest():
    """B10."""

    def body(x, y):
        for _ in tile.parallel(4 - 8):  # fault
            pass

    assert "negative" in refused_body("negative-extent", body)


def test_a_negative_extent_of_a_parameter():
    """B10."""
    with pytest.raises(CaptureError) as caught:
        kernels.axpb.capture((-8,), (8,))  # fault
    assert "negative" in checked("negative-extent", caught.value)


def test_a_store_through_an_input():
    """B17."""

    def body(x, y):
        for p in tile.parallel(8):
            x[p.index(), E_AXIS] = 0.0  # fault

    assert "tile.In and cannot be written" in refused_body("read-only-view", body)


def test_an_element_store_through_an_input():
    """B17."""

    def body(x, y):
        for p in tile.parallel(8):
            x.elem(p.index()).store(0.0)  # fault

    assert "tile.InOut" in refused_body("read-only-view", body)


def test_a_load_from_an_output():
    """B17: the reverse; InOut allows both."""

    def body(x, y):
        for p in tile.parallel(8):
            y[p.index(), E_AXIS]  # fault

    assert "tile.Out and cannot be read" in refused_body("write-only-view", body)
