"""Row programs: softmax and the norms, over whole axes of a tile."""

from __future__ import annotations

import math

from tilewright.tile.arithmetic import exp, log, sqrt, where
from tilewright.tile.axes import Axis
from tilewright.tile.capture import current
from tilewright.tile.generators import max, resolve, sum
from tilewright.tile.handles import Handle


def softmax(x: Handle, axis: Axis | int, mask: Handle | None = None) -> Handle:
    """exp(x - max) / sum over an axis; 0 where a bool mask is false, of which each row needs a true element."""
    shifted = x if mask is None else where(mask, x, -math.inf)
    powers = exp(shifted - max(shifted, axis))
    return powers / sum(powers, axis)


def log_sum_exp(x: Handle, axis: Axis | int) -> Handle:
    """log(sum(exp(x))) over an axis, without overflow."""
    top = max(x, axis)
    return log(sum(exp(x - top), axis)) + top


def mean(x: Handle, axis: Axis | int) -> Handle:
    """Arithmetic mean over an axis."""
    (dim,) = resolve(current(), x, axis)
    return sum(x, axis) / float(x.shape[x.space.dims.index(dim)])


def rms_norm(x: Handle, weight: Handle, axis: Axis | int, epsilon: float = 1e-5) -> Handle:
    """x / sqrt(mean(x^2) + epsilon) * weight; the weight lies over the axis."""
    return x / sqrt(mean(x * x, axis) + epsilon) * weight


def layer_norm(x: Handle, weight: Handle, bias: Handle, axis: Axis | int, epsilon: float = 1e-5) -> Handle:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, with the variance of the whole population."""
    centred = x - mean(x, axis)
    return centred / sqrt(mean(centred * centred, axis) + epsilon) * weight + bias
