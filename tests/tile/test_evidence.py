"""Kernels of the DSL against hand-written NumPy. Evidence: interpreter FP64."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tile import kernels
from tilewright import tile
from tilewright.tileir.interpreter.run import evaluate
from tilewright.tileir.text.parser import parse_module
from tilewright.tileir.text.printer import print_module

RANDOM = np.random.default_rng(11)
ROWS = 17
WIDTHS = [7, 32, 65]


def run(definition, *arguments):
    """The last argument after the kernel, whose text form is checked to survive a round trip on the way."""
    kernel = definition.capture(*(each.shape for each in arguments))
    again = parse_module(kernel.text())
    assert print_module(again) == kernel.text()
    return evaluate(again.functions[0], arguments)[-1]


def normal(*shape):
    return RANDOM.standard_normal(shape)


def empty(*shape):
    return np.full(shape, np.nan)


def soft(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def close(actual, wanted):
    np.testing.assert_allclose(actual, wanted, rtol=1e-12, atol=1e-13)


def test_axpb_on_a_ragged_length():
    x = normal(1003)
    close(run(kernels.axpb, x, empty(1003)), np.where(x > 0, x * 1.25 - 0.5, -x))


def test_row_sum():
    x = normal(37, 19)
    close(run(kernels.row_sum, x, empty(37)), x.sum(axis=1))


def test_row_extrema():
    x = normal(17, 31)
    kernel = kernels.row_extrema.capture((17, 31), (17,), (17,))
    _, low, high = evaluate(kernel.function, [x, empty(17), empty(17)])
    close(low, x.min(axis=1))
    close(high, x.max(axis=1))


@pytest.mark.parametrize("width", WIDTHS)
def test_softmax(width):
    x = normal(ROWS, width)
    close(run(kernels.softmax, x, empty(ROWS, width)), soft(x))


@pytest.mark.parametrize("width", WIDTHS)
def test_masked_softmax(width):
    x = normal(ROWS, width)
    mask = np.arange(width) <= (np.arange(ROWS) % width)[:, None]
    close(run(kernels.masked_softmax, x, empty(ROWS, width)), soft(np.where(mask, x, -np.inf)))


@pytest.mark.parametrize("width", WIDTHS)
def test_rms_norm(width):
    x, weight = normal(ROWS, width), normal(width)
    wanted = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-5) * weight
    close(run(kernels.rms_norm, x, weight, empty(ROWS, width)), wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_layer_norm(width):
    x, weight, bias = normal(ROWS, width), normal(width), normal(width)
    centred = x - x.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5) * weight + bias
    close(run(kernels.layer_norm, x, weight, bias, empty(ROWS, width)), wanted)


@pytest.mark.parametrize("width", WIDTHS)
def test_swiglu(width):
    gate, up = normal(ROWS, width), normal(ROWS, width)
    close(run(kernels.swiglu, gate, up, empty(ROWS, width)), gate / (1 + np.exp(-gate)) * up)


@pytest.mark.parametrize("width", WIDTHS)
def test_gelu_with_residual(width):
    x, residual = normal(ROWS, width), normal(ROWS, width)
    wanted = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3))) + residual
    close(run(kernels.gelu_residual, x, residual, empty(ROWS, width)), wanted)


@pytest.mark.parametrize("width", [6, 32, 66])
def test_rope_split_half(width):
    x, angle = normal(ROWS, width), normal(ROWS, width // 2)
    low, high = x[:, : width // 2], x[:, width // 2 :]
    cosine, sine = np.cos(angle), np.sin(angle)
    wanted = np.concatenate([low * cosine - high * sine, high * cosine + low * sine], axis=1)
    close(run(kernels.rope, x, cosine, sine, empty(ROWS, width)), wanted)


def test_cross_entropy_reads_the_logit_under_its_guard():
    x, label = normal(5, 9), np.array([0, 8, -1, 9, 4], np.int32)
    wanted = np.array([np.log(np.exp(x[r]).sum()) - x[r, at] if 0 <= at < 9 else 0.0 for r, at in enumerate(label)])
    close(run(kernels.cross_entropy, x, label, empty(5)), wanted)


@pytest.mark.parametrize("flips", [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize(
    ("shape", "tiles", "start"),
    [((17, 19, 13), (2, 3, 4), 0.25), ((7, 11, 9), (2, 3, 4), 0.5), ((48, 32, 24), (16, 16, 16), 0.0)],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_gemm_in_four_transposes(shape, tiles, start, flips, ordered):
    m, n, k = shape
    a, b = normal(m, k), normal(k, n)
    gemm = kernels.make_gemm(*tiles, *flips, start=start, ordered=ordered, pipelined=not ordered)
    stored = [each.T if flip else each for each, flip in zip((a, b), flips, strict=True)]
    close(run(gemm, *stored, empty(m, n)), start + a @ b)


def test_batched_gemm():
    a, b = normal(3, 17, 13), normal(3, 13, 19)
    close(run(kernels.make_batched_gemm(4), a, b, empty(3, 17, 19)), a @ b)


@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("trips", [0, 1, 5])
def test_cells_that_swap_update_at_once(trips, pipelined):
    x = normal(19)
    p, q = x, np.ones(19)
    for _ in range(trips):
        p, q = q, p + q
    kernel = kernels.make_recurrence(trips, pipelined).capture((19,), (19,))
    overwritten, y = evaluate(kernel.function, [x, empty(19)])
    close(y, p)
    close(overwritten, np.full(19, 17.0))


ATTENTION = [(1, 2, 2, 4, 5, 4, 3), (2, 4, 2, 7, 11, 8, 7), (2, 4, 2, 1, 17, 8, 7), (1, 1, 1, 6, 6, 4, 4)]


def attended(q, k, v, *, causal):
    """Plain attention in NumPy: full scores, mask, softmax."""
    shared = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, shared, axis=1), np.repeat(v, shared, axis=1)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        hidden = np.arange(k.shape[2]) > np.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
        scores = np.where(hidden, -np.inf, scores)
    return soft(scores) @ v


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("sizes", ATTENTION, ids=["prefill", "gqa", "decode", "square"])
def test_online_attention(sizes, causal):
    batches, heads, key_heads, queries, keys, depth, value_depth = sizes
    q, k = normal(batches, heads, queries, depth), normal(batches, key_heads, keys, depth)
    v = normal(batches, key_heads, keys, value_depth)
    out = run(tile.attention(2, 3, causal=causal), q, k, v, empty(batches, heads, queries, value_depth))
    close(out, attended(q, k, v, causal=causal))


def test_attention_is_captured_and_verified_in_a_fraction_of_half_a_second():
    started = time.perf_counter()
    tile.attention(2, 3).capture((2, 4, 7, 8), (2, 2, 11, 8), (2, 2, 11, 7), (2, 4, 7, 7))
    assert time.perf_counter() - started < 0.3


def test_a_renamed_kernel_differs_in_its_name_only():
    shapes = ((1, 2, 4, 4), (1, 2, 5, 4), (1, 2, 5, 3), (1, 2, 4, 3))
    one = tile.attention(2, 3, name="one").capture(*shapes).text()
    assert one.replace('func "one"', 'func "two"') == tile.attention(2, 3, name="two").capture(*shapes).text()


def test_two_captures_of_one_definition_give_equal_text():
    first, second = (kernels.softmax.capture((9, 13), (9, 13)) for _ in range(2))
    assert first.text() == second.text()
    assert first.module is not second.module
