"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class KernelFileError(ProblemError):
    """A kernel file, or a request about one, from which no shader can be made."""
