"""The exception of this room, and the position in the user's file that every fault carries."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import NoReturn

from tilewright.problem import Place, Problem, ProblemError

NOT_THE_USER = (str(Path(__file__).parent) + os.sep, contextlib.__file__)


class CaptureError(ProblemError):
    """A kernel that cannot be captured; each problem carries the line of the user's file."""


def user_place() -> Place:
    """The innermost line being executed that is not part of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(NOT_THE_USER):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno)


def fail(what: str, *, rule: str, hint: str = "", where: Place | None = None) -> NoReturn:
    """Raises CaptureError at the user's line."""
    raise CaptureError([Problem(what, where or user_place(), hint, rule)])
