"""The one exception of this room."""

from __future__ import annotations

from tilewright.problem import Problem, ProblemError


class ShaderError(ProblemError):
    """A call, a buffer, a driver or a compiler that cannot do what was asked."""


def refusal(what: str, rule: str = "", hint: str = "", detail: str = "") -> ShaderError:
    """A ShaderError with one problem."""
    return ShaderError([Problem(what, hint=hint, rule=rule, detail=detail)])
