"""The methods of the environment, as build scripts call them: wrong arguments are one clear error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly


def checked(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`method` under a check of its arguments; `name` is what scripts call it."""

    @functools.wraps(method)
    def call(env: Any, *arguments: Any, **named: Any) -> Any:
        try:
            signature(method).bind(env, *arguments, **named)
        except TypeError:
            with reading_stops_cleanly():
                raise BuildScriptError(_wrong(method, name, arguments, named)) from None
        return method(env, *arguments, **named)

    return call


def _wrong(method: Callable[..., Any], name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Problem]:
    taken = [one.name for one in signature(method).parameters.values() if one.kind is not Parameter.VAR_KEYWORD][1:]
    listing = f"it takes {', '.join(taken)}"
    problems = []
    for unknown in [one for one in named if one not in taken]:
        near = get_close_matches(unknown, taken, n=1)
        hint = f"did you mean `{near[0]}`? {listing}" if near else listing
        problems.append(Problem(f"`{name}` takes no `{unknown}`", hint=hint))
    for twice in [one for one in taken[: len(arguments)] if one in named]:
        problems.append(Problem(f"`{name}` is given `{twice}` twice, by place and by name", hint=listing))
    if len(arguments) > len(taken):
        problems.append(Problem(f"`{name}` is given {len(arguments)} arguments without names", hint=listing))
    return problems
