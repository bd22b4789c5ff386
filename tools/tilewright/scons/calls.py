"""What build scripts give to the methods of the environment: wrong arguments are one clear error."""

from __future__ import annotations

import functools
from collections import UserList
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from typing import Any

from SCons.Environment import Base as Env
from SCons.Node import Node
from SCons.Node.FS import File

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly


def checked(method: Callable[..., Any], name: str, variables: Iterable[str] = ()) -> Callable[..., Any]:
    """`method` under a check of its arguments; `name` is what scripts call it, `variables` are what a call may set."""
    shape = _shape(method, variables)

    @functools.wraps(method)
    def call(env: Any, *arguments: Any, **named: Any) -> Any:
        try:
            shape.bind(env, *arguments, **named)
        except TypeError:
            with reading_stops_cleanly():
                raise BuildScriptError(_wrong(shape, name, arguments, named)) from None
        return method(env, *arguments, **named)

    return call


def _shape(method: Callable[..., Any], variables: Iterable[str]) -> Signature:
    """What a script may give: the parameters of the method, and by name the variables that stand for `**given`."""
    own = [one for one in signature(method).parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    return Signature([*own, *(Parameter(one, Parameter.KEYWORD_ONLY, default=None) for one in variables)])


def _wrong(shape: Signature, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Problem]:
    taken = list(shape.parameters)[1:]
    by_place = [one.name for one in shape.parameters.values() if one.kind is not Parameter.KEYWORD_ONLY][1:]
    listing = f"it takes {', '.join(taken)}"
    problems = []
    for unknown in [one for one in named if one not in taken]:
        near = get_close_matches(unknown, taken, n=1)
        hint = f"did you mean `{near[0]}`? {listing}" if near else listing
        problems.append(Problem(f"`{name}` takes no `{unknown}`", hint=hint))
    for twice in [one for one in by_place[: len(arguments)] if one in named]:
        problems.append(Problem(f"`{name}` is given `{twice}` twice, by place and by name", hint=listing))
    if len(arguments) > len(by_place):
        problems.append(Problem(f"`{name}` is given {len(arguments)} arguments without names", hint=listing))
    return problems


def files_given(env: Env, given: Any) -> list[File]:
    """The nodes of file names and nodes, alone or in lists; BuildScriptError for anything else."""
    nodes: list[Any] = env.arg2nodes(given, env.File)
    for one in nodes:
        if not isinstance(one, Node):
            raise BuildScriptError.of(f"`{one!r}` is given for a file", "write its name, or what a builder returned")
    return nodes


def words_given(given: Any) -> list[str]:
    """Options as words: of a list, or of a text that is split at blanks; BuildScriptError for anything else."""
    if isinstance(given, str):
        return given.split()
    if isinstance(given, (list, tuple, UserList)):
        return [str(word) for word in given]
    raise BuildScriptError.of(f"`{given!r}` is given for options", 'options=["-O1", "-lineinfo"]')
