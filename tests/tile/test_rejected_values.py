"""What the DSL refuses of values, types, shapes and accesses (B1, B13 to B16, V rules); see refusals.py."""

from __future__ import annotations

import numpy as np
import pytest

from tile import kernels
from tile.refusals import E_AXIS, checked, copy_kernel, refused_body
from tilewright import tile
from tilewright.tile import CaptureError, f32, i32, i64


@pytest.mark.parametrize("foreign", [np.ones(8), "text", None, [1.0]], ids=["array", "text", "none", "list"])
def test_a_foreign_operand(foreign):
    """B1: a handle of anything else used in a capture."""

    def body(x, y):
        for p in tile.parallel(8):
            x[p.index(), E_AXIS] + foreign  # fault

    assert "foreign operand" in refused_body("foreign-operand", body)


def test_an_array_on_the_left_is_foreign_too():
    """B1: NumPy does not take the operation over."""

    def body(x, y):
        for p in tile.parallel(8):
            np.ones(8) * x[p.index(), E_AXIS]  # fault

    assert "foreign operand: ndarray" in refused_body("foreign-operand", body)


def test_a_value_of_another_kernel():
    """B1: handles do not cross kernels."""
    kept = []

    def first(x, y):
        kept.append(tile.zeros(E_AXIS))

    copy_kernel(first).capture((64,), (64,))

    def second(x, y):
        tile.exp(kept[0])  # fault

    assert "another kernel" in refused_body("foreign-operand", second)


def test_a_parameter_of_another_kernel():
    """B1: parameters do not cross kernels."""
    kept = []
    copy_kernel(lambda x, y: kept.append(x)).capture((64,), (64,))

    def second(x, y):
        kept[0][0, E_AXIS]  # fault

    assert "another kernel" in refused_body("foreign-operand", second)


def test_a_broadcast_of_extents_that_differ():
    """B13: plain extents share the axis of their position from the right."""

    def body(x, y):
        tile.zeros((4, 8)) + tile.zeros((4, 7))  # fault

    assert "equal or singleton" in refused_body("not-broadcastable", body)


def test_a_broadcast_to_axes_that_lack_one():
    """B13."""

    def body(x, y):
        tile.broadcast_to(tile.zeros(E_AXIS), tile.axis("other", 8))  # fault

    assert "equal or singleton" in refused_body("not-broadcastable", body)


@pytest.mark.parametrize("shape", [7, (8, 1)])
def test_a_relabel_that_changes_rank_or_extent(shape):
    """B14."""

    def body(x, y):
        tile.relabel(tile.zeros(E_AXIS), shape)  # fault

    assert "relabel" in refused_body("relabel-changes-extent", body)


def test_a_store_of_other_extents():
    """B14: a store relabels, and may not stretch."""

    def body(x, y):
        for p in tile.parallel(4):
            y[p.index(), tile.axis("f", 4)] = x[p.index(), E_AXIS]  # fault

    assert "relabel" in refused_body("relabel-changes-extent", body)


@pytest.mark.parametrize("axes", [tile.axis("other", 8), 1, -2, (0, 0), (E_AXIS, 0)])
def test_a_reduction_over_an_axis_that_the_tile_lacks(axes):
    """B14."""

    def body(x, y):
        tile.sum(tile.zeros(E_AXIS), axes)  # fault

    assert "reduction axes" in refused_body("reduction-axes", body)


@pytest.mark.parametrize(
    "shapes",
    [((4, 8), (7, 5), (4, 5)), ((4, 8), (8, 5), (4, 6)), ((4, 8), (8,), (4,)), ((4, 4, 8), (8, 5), (4, 5))],
)
def test_an_mma_that_is_no_contraction(shapes):
    """B15."""

    def body(x, y):
        a, b, c = (tile.zeros(shape) for shape in shapes)
        tile.mma(a, b, c)  # fault

    assert "valid contraction" in refused_body("no-contraction", body)


@pytest.mark.parametrize("guard", [{"predicate": True}, {"fallback": 0.0}])
def test_a_predicate_without_a_fallback_or_the_reverse(guard):
    """B16."""

    def body(x, y):
        for p in tile.parallel(64):
            x.elem(p.index()).load(**guard)  # fault

    assert "predicate and fallback" in refused_body("predicate-without-fallback", body)


def test_a_python_branch_on_a_tile():
    """G: `__bool__` raises and says what to write."""

    def body(x, y):
        for p in tile.parallel(8):
            if x[p.index(), E_AXIS] > 0.0:  # fault
                pass

    words = refused_body("data-dependent-branch", body)
    assert "data-dependent Python branch in a tile kernel" in words
    assert "tile.where" in words


@pytest.mark.parametrize(
    "use",
    [
        lambda t: 0.0 < t < 1.0,  # fault
        lambda t: t and t,  # fault
        lambda t: not t,  # fault
        lambda t: t in [t + 1.0],  # fault
    ],
    ids=["chained", "and", "not", "in"],
)
def test_python_words_that_ask_for_a_truth_value(use):
    """G: chained comparisons, `and`, `not`, `in`."""

    def body(x, y):
        for p in tile.parallel(8):
            use(x[p.index(), E_AXIS])

    assert "& | ~" in refused_body("data-dependent-branch", body)


@pytest.mark.parametrize(
    "use",
    [
        lambda i: int(i),  # fault
        lambda i: float(i),  # fault
        lambda i: range(i),  # fault
        lambda i: list(i),  # fault
        lambda i: len(i),  # fault
    ],
    ids=["int", "float", "range", "list", "len"],
)
def test_python_numbers_from_a_value(use):
    """G: a value has no Python number while the kernel is captured."""

    def body(x, y):
        for p in tile.parallel(8):
            use(p.index())

    assert "not known while the kernel is captured" in refused_body("data-dependent-value", body)


def test_a_value_used_after_its_nest():
    """V5: the usual reason is a plain assignment where a cell is needed."""

    def body(x, y):
        acc = tile.zeros(E_AXIS)
        for p in tile.serial(3):
            acc = acc + x[p.index(), E_AXIS]
        tile.exp(acc)  # fault

    assert "acc.set(...)" in refused_body("escaped-value", body)


def test_a_load_inside_a_map():
    """V16."""

    def body(x, y):
        tile.map(E_AXIS, lambda i: x.elem(i).load())  # fault

    assert "memory effect inside a tile.map" in refused_body("effect-in-map", body)


def test_a_map_that_gives_a_tile():
    """V15."""

    def body(x, y):
        tile.map(E_AXIS, lambda i: tile.zeros(E_AXIS))  # fault

    assert "one scalar" in refused_body("map-not-scalar", body)


@pytest.mark.parametrize(
    ("rule", "use"),
    [
        ("arithmetic-mismatch", lambda f, n: f + n),  # fault
        ("comparison-mismatch", lambda f, n: f < n),  # fault
        ("logic-on-other-than-bool", lambda f, n: f & f),  # fault
        ("not-a-float", lambda f, n: tile.exp(n)),  # fault
        ("not-an-integer", lambda f, n: f % 2.0),  # fault
        ("arithmetic-on-bool", lambda f, n: (f > 0.0) + (f > 1.0)),  # fault
        ("constant-without-value", lambda f, n: n * 1.5),  # fault
        ("constant-without-value", lambda f, n: n + 2**40),  # fault
        ("select-mismatch", lambda f, n: tile.where(f, f, f)),  # fault
        ("wrong-division", lambda f, n: n / 2),  # fault
        ("wrong-division", lambda f, n: f // 2.0),  # fault
        ("extract-mismatch", lambda f, n: f.at(tile.cast(n.at(0), f32))),  # fault
        ("malformed-extract", lambda f, n: f.at(0, 0)),  # fault
    ],
)
def test_types_that_do_not_fit(rule, use):
    """V12, V14: the rules of the verifier, applied at the line that breaks them."""

    def body(x, y):
        use(tile.zeros(E_AXIS), tile.zeros(E_AXIS, i32))

    refused_body(rule, body)


def test_a_reduction_of_bools():
    """V12."""

    def body(x, y):
        tile.sum(tile.zeros(E_AXIS) > 0.0, E_AXIS)  # fault

    assert "tile.cast" in refused_body("reduction-of-bool", body)


@pytest.mark.parametrize(
    ("rule", "use"),
    [
        ("view-rank", lambda x: x[(0, 0), E_AXIS]),  # fault
        ("view-rank", lambda x: x[0, (E_AXIS, 4)]),  # fault
        ("view-subscript", lambda x: x[0]),  # fault
        ("unknown-bounds", lambda x: x.at(0, E_AXIS, bounds="clamp")),  # fault
        ("index-not-an-integer", lambda x: x[tile.zeros(E_AXIS).at(0), E_AXIS]),  # fault
        ("constant-without-value", lambda x: x[0.5, E_AXIS]),  # fault
        ("axis-repeated", lambda x: tile.zeros((E_AXIS, E_AXIS))),  # fault
        ("axis-repeated", lambda x: tile.parallel(E_AXIS, E_AXIS)),  # fault
        ("guard-mismatch", lambda x: x.at(0, E_AXIS, fill=tile.zeros(E_AXIS, i64).at(0)).load()),  # fault
        ("kernel-called", lambda x: kernels.axpb(x, x)),  # fault
    ],
)
def test_accesses_that_do_not_fit(rule, use):
    """V18 and its like, at the user's line."""
    refused_body(rule, lambda x, y: use(x))


@pytest.mark.parametrize("use", [lambda: tile.zeros(4), lambda: tile.parallel(4), lambda: tile.var(1.0)])
def test_the_dsl_outside_of_a_kernel(use):
    """B1: there is nothing to record into."""
    with pytest.raises(CaptureError, match="used outside of a kernel"):
        use()


@pytest.mark.parametrize("name", ["a b", "1st", "a-b"])
def test_a_name_that_is_no_symbol(name):
    """C.1: the name becomes the entry symbol."""
    with pytest.raises(CaptureError, match="no name for a kernel"):
        tile.kernel(name=name)


def test_heads_that_cannot_share_key_heads():
    """F.1: grouped attention needs a multiple."""
    with pytest.raises(CaptureError) as caught:
        tile.attention(2, 3).capture((1, 3, 4, 4), (1, 2, 5, 4), (1, 2, 5, 3), (1, 3, 4, 3))  # fault
    assert "3 query heads" in checked("attention-heads", caught.value)
