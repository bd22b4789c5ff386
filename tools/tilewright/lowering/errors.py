"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class LoweringError(ProblemError):
    """A function, or options, that a backend refuses. No other route is tried."""
