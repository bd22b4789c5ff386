"""The exception of the room `toolchain/`."""

from __future__ import annotations

from tilewright.problem import ProblemError


class ToolchainError(ProblemError):
    """A tool is missing, does not answer, or does not offer what was asked for."""
