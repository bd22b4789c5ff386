"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class PackageError(ProblemError):
    """A package that cannot be made, read or trusted; carries every problem found."""
