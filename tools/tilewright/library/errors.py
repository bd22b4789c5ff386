"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import ProblemError


class LibraryError(ProblemError):
    """A library that cannot be packed, published or read; carries every problem found."""
