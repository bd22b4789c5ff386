"""Activations and the rotary embedding: element-wise compositions."""

from __future__ import annotations

from tilewright.tile.arithmetic import exp, tanh
from tilewright.tile.handles import Handle

SQRT_2_OVER_PI = 0.7978845608
GELU_CUBIC = 0.044715


def sigmoid(x: Handle) -> Handle:
    """1 / (1 + exp(-x))."""
    return 1.0 / (exp(-x) + 1.0)


def silu(x: Handle) -> Handle:
    """x * sigmoid(x)."""
    return x / (exp(-x) + 1.0)


def gelu(x: Handle) -> Handle:
    """The tanh form: x / 2 * (1 + tanh(0.7978845608 (x + 0.044715 x^3)))."""
    return x * 0.5 * (tanh((x + x * x * x * GELU_CUBIC) * SQRT_2_OVER_PI) + 1.0)


def swiglu(gate: Handle, up: Handle) -> Handle:
    """silu(gate) * up."""
    return silu(gate) * up


def rope(low: Handle, high: Handle, cosine: Handle, sine: Handle) -> tuple[Handle, Handle]:
    """Rotates the pairs of a split-half layout: (low cos - high sin, high cos + low sin)."""
    return low * cosine - high * sine, high * cosine + low * sine
