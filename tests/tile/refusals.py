"""Kernels that are refused: the line at fault ends in `# fault`, and the error has to point there."""

from __future__ import annotations

import linecache

import pytest

from tilewright import tile
from tilewright.tile import CaptureError, f32


def refused(rule, definition, *shapes):
    """Captures, checks that one problem of that rule points at the line marked `# fault`, gives its words."""
    with pytest.raises(CaptureError) as caught:
        definition.capture(*shapes)
    return checked(rule, caught.value)


def checked(rule, error):
    (problem,) = error.problems
    assert problem.rule == rule, problem
    assert problem.where is not None
    assert linecache.getline(problem.where.file, problem.where.line).rstrip().endswith("# fault"), problem
    return f"{problem.what} {problem.hint}"


def copy_kernel(body):
    """A kernel over one input and one output of rank one with that body."""

    @tile.kernel
    def kernel(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        body(x, y)

    return kernel


def refused_body(rule, body):
    return refused(rule, copy_kernel(body), (64,), (64,))


E_AXIS = tile.axis("e", 8)
