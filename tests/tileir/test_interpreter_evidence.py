"""The interpreter against hand-written NumPy on the evidence kernels. Evidence: interpreter FP64."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tileir import kernels
from tilewright.tileir.interpreter.run import evaluate, execute

RANDOM = np.random.default_rng(7)


def poisoned(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 1003])
def test_axpb_on_a_ragged_length(length):
    x = RANDOM.standard_normal(length)
    read, y = evaluate(kernels.axpb(length), [x, poisoned(length)])
    np.testing.assert_array_equal(read, x)
    np.testing.assert_array_equal(y, np.where(x > 0, x * 1.25 - 0.5, -x))


@pytest.mark.parametrize("columns", [1, 7, 17])
def test_softmax_rows(columns):
    x = RANDOM.standard_normal((17, columns))
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    _, y = evaluate(kernels.softmax(17, columns), [x, poisoned(17, columns)])
    np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-13)


@pytest.mark.parametrize("columns", [7, 32, 65])
def test_rms_norm_rows(columns):
    x, weight = RANDOM.standard_normal((17, columns)), RANDOM.standard_normal(columns)
    *_, y = evaluate(kernels.rms_norm(17, columns), [x, weight, poisoned(17, columns)])
    np.testing.assert_allclose(y, x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * weight, rtol=1e-13)


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("transposed", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("shape", "tile", "start"),
    [((16, 24, 16), (1, 1, 8), 0.0), ((17, 19, 13), (2, 3, 4), 0.25), ((7, 11, 9), (2, 3, 4), 0.5)],
)
def test_gemm_in_four_transposes(shape, tile, start, transposed, pipelined):
    m, n, k = shape
    a, b = RANDOM.standard_normal((m, k)), RANDOM.standard_normal((k, n))
    function = kernels.gemm(shape, tile, transposed=transposed, start_value=start, pipelined=pipelined)
    stored = [np.ascontiguousarray(each.T) if flip else each for each, flip in zip((a, b), transposed, strict=True)]
    *_, c = evaluate(function, [*stored, poisoned(m, n)])
    np.testing.assert_allclose(c, start + a @ b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_carries_swap_at_once_and_a_load_is_a_snapshot(trips, pipelined):
    x = RANDOM.standard_normal(19)
    overwritten, y = evaluate(kernels.recurrence(19, trips, pipelined=pipelined), [x, poisoned(19)])
    p, q = x, np.ones(19)
    for _ in range(trips):
        p, q = q, p + q
    np.testing.assert_array_equal(y, p)
    np.testing.assert_array_equal(overwritten, np.full(19, 17.0))


@pytest.mark.parametrize(("factor", "expected"), [(1, [0.0, 3.0, 5.0]), (2**63 - 1, [0.0, 3.0, 0.0])])
def test_origins_outside_the_view_are_filled_even_after_overflow(factor, expected):
    _, y = evaluate(kernels.clipped_origin(factor), [np.array([3.0, 5.0]), poisoned(3)])
    np.testing.assert_array_equal(y, expected)


def test_a_guarded_element_read_does_not_touch_memory_where_its_predicate_is_false():
    x, label = RANDOM.standard_normal((5, 8)), np.array([0, 7, -1, 8, 3], np.int32)
    *_, y = evaluate(kernels.gather(), [x, label, poisoned(5)])
    np.testing.assert_array_equal(y, [x[0, 0], x[1, 7], -1.0, -1.0, x[4, 3]])


def test_memory_states_carry_the_whole_object():
    x = RANDOM.standard_normal((4, 6))
    _, y = evaluate(kernels.memory_sum(), [x, poisoned(4, 6)])
    np.testing.assert_array_equal(y, x * 2**6)


def test_nested_parallels_see_both_coordinates():
    (y,) = evaluate(kernels.nested_parallel(), [poisoned(3, 5)])
    np.testing.assert_array_equal(y, 10.0 * np.arange(3)[:, None] + np.arange(5))


def test_instances_in_chunks_give_what_they_give_at_once(monkeypatch):
    x = RANDOM.standard_normal((17, 7))
    whole = evaluate(kernels.softmax(), [x, poisoned(17, 7)])
    monkeypatch.setattr("tilewright.tileir.interpreter.nests.ELEMENTS_AT_ONCE", 30)
    np.testing.assert_array_equal(evaluate(kernels.softmax(), [x, poisoned(17, 7)])[1], whole[1])


def test_rows_of_4096_columns_are_checked_in_seconds():
    x = RANDOM.standard_normal((256, 4096))
    started = time.monotonic()
    _, y = evaluate(kernels.softmax(256, 4096), [x, poisoned(256, 4096)])
    assert time.monotonic() - started < 20
    np.testing.assert_allclose(y.sum(axis=1), 1.0, rtol=1e-12)


def test_float32_arguments_are_computed_in_float64_and_stay_untouched():
    x = RANDOM.standard_normal(64).astype(np.float32)
    kept = x.copy()
    _, y = evaluate(kernels.axpb(64), [x, np.full(64, np.nan, np.float32)])
    assert y.dtype == np.float64
    np.testing.assert_array_equal(x, kept)


def test_execute_works_in_place_and_rounds_when_it_stores():
    x, y = np.full(64, 0.1, np.float32), np.zeros(64, np.float32)
    execute(kernels.axpb(64), [x, y])
    np.testing.assert_array_equal(y, np.full(64, np.float64(np.float32(0.1)) * 1.25 - 0.5).astype(np.float32))
