"""What is asked of a kernel file, as plain values that a signature and another process can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.problem import Problem
from tilewright.shaders.errors import KernelFileError

TIME_LIMIT = 60.0
"""Seconds that a kernel file may run."""

SCALARS = (bool, int, float, str)


@dataclass(frozen=True, slots=True)
class Request:
    """Of one shader: `kernel` names the kernel in the file ("": the one called like the shader, or the only one).

    `specialisations`: by name, the shape of each parameter, and the arguments of the function that makes the kernel
    where the file has one.
    """

    name: str
    kernel: str
    specialisations: tuple[tuple[str, Any], ...]

    def to_json(self) -> str:
        """One text, the same for the same request."""
        return json.dumps([self.name, self.kernel, self.specialisations])

    @classmethod
    def from_json(cls, text: str) -> Request:
        """The inverse of `to_json`; lists become tuples again."""
        name, kernel, specialisations = _frozen(json.loads(text))
        return cls(name, kernel, specialisations)


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the caller's user writes what the hints of errors ask for."""

    kernel: str
    time_limit: str
    value: str
    """One specialisation, with `{name}` and `{value}`."""
    between: str
    around: str
    """All of them, as `{}`."""

    def specialisations(self, *names: str, value: str = "...") -> str:
        """That each of the names is given a value."""
        return self.around.format(self.between.join(self.value.format(name=name, value=value) for name in names))


IN_SCRIPT = Spelling("kernel=...", "time_limit=...", '"{name}": {value}', ", ", "specialisations={{{}}}")


def make_request(name: object, kernel: object, specialisations: object) -> Request:
    """The request, or KernelFileError with every value in it that is of a wrong type."""
    problems = []
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        hint = "letters, digits and underscores, such as softmax_4096"
        problems.append(Problem(f"`{name}` cannot name a shader: it becomes the name of its files", hint=hint))
    if not (isinstance(kernel, str) and (not kernel or kernel.isidentifier())):
        problems.append(Problem(f"`{kernel}` cannot name a kernel", hint="the name of the function in the file"))
    given: Mapping[Any, Any] = specialisations if isinstance(specialisations, Mapping) else {}
    if given is not specialisations:
        what = f"the specialisations of `{name}` are {_kind(specialisations)}, and not a mapping"
        problems.append(Problem(what, hint='specialisations={"x": (1003,), "y": (1003,)}'))
    for key, value in given.items():
        if not isinstance(key, str):
            what = f"the specialisations of `{name}` have the key {key!r}"
            problems.append(Problem(what, hint="names of parameters, as text"))
        elif wrong := _not_plain(value):
            problems.append(
                Problem(
                    f"the specialisation `{key}` of `{name}` holds {wrong}",
                    hint="a shape is a tuple of integers; other values are bool, int, float, text, or tuples of these",
                    rule="specialisation-type",
                )
            )
    if problems:
        raise KernelFileError(problems)
    return Request(str(name), str(kernel), tuple(sorted((key, _frozen(value)) for key, value in given.items())))


def _not_plain(value: object) -> str:
    """What in the value is neither a scalar nor a sequence of such; empty when all is well."""
    if isinstance(value, (tuple, list)):
        return next(filter(None, map(_not_plain, value)), "")
    return "" if isinstance(value, SCALARS) else _kind(value)


def _kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, (tuple, list)) else value
