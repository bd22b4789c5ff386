"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class CacheError(ProblemError):
    """A cache that is named wrongly; one that fails while a build runs costs a line, never the build."""
