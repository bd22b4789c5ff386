"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class CallerError(ProblemError):
    """A caller that cannot be made, linked or run, or a verification bundle that is not whole; carries all problems."""
