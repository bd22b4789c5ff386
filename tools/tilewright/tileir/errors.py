"""The one exception of this room, and how the room states what its own rules guarantee."""

from __future__ import annotations

from typing import TypeVar

from tilewright.problem import ProblemError

Known = TypeVar("Known")


class TileIRError(ProblemError):
    """TileIR that is malformed, text that does not parse, or arguments an execution cannot use."""


def known(value: Known | None, holder: object) -> Known:
    """A value that verified TileIR always has; AssertionError names the holder that lacks it, which is our bug."""
    if value is None:
        raise AssertionError(holder)
    return value
