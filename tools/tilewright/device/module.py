"""Device code as a front end hands it over, and the room's one exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright.problem import ProblemError

Language = Literal["cuda", "nvvm"]

LOGICAL_ROOT = "/tw/"
"""What the logical absolute name of a project's header begins with; the rest is project-relative."""

WRAPPERS, NAMESPACE = ".wrappers.cu", "tilewright_generated"
"""What the name of the text that is appended to a user's CUDA C++ ends in, and the namespace of its own definitions."""


class DeviceError(ProblemError):
    """Device code that does not compile, link or match its exports, or a native tool that failed."""


@dataclass(frozen=True, slots=True)
class DeviceModule:
    """One translation unit: everything the compilers see of it, and no path of the machine it lies on.

    `language` is `cuda` (CUDA C++, `text` opens with its own `#line`) or `nvvm` (NVVM IR text).  `name` is the
    project-relative POSIX path of the user's source.  `headers` are the user's headers in memory as (logical absolute
    name such as `/tw/examples/a/k.cuh`, text); includes are written with exactly those names.
    """

    language: Language
    text: str
    name: str
    headers: tuple[tuple[str, str], ...] = ()
