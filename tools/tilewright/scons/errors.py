"""Problems become what SCons prints as one clean message, without a traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from SCons.Errors import BuildError, StopError, UserError
from SCons.Node import Node

from tilewright.problem import Place, Problem, ProblemError, render

_WRONG_KIND = re.compile(r"(?P<is>Directory|File) (?P<path>.*) found where (?P<wanted>directory|file) expected\.")
"""What SCons says in a bare TypeError."""

_KINDS = {"Directory": "folder", "File": "file", "directory": "folder", "file": "file"}

_DECLARED = "tilelib_declared"
"""The tag of a node that a method of ours declared."""

_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class BuildScriptError(ProblemError):
    """A build script or a command line that asks for something wrong."""

    @classmethod
    def of(cls, what: str, hint: str = "") -> BuildScriptError:
        """The error of a single problem."""
        return cls([Problem(what, hint=hint)])


@contextmanager
def one_clean_error(target: Node) -> Iterator[None]:
    """Inside an action: problems, and what the file system refuses, become one BuildError of `target`."""
    try:
        yield
    except ProblemError as error:
        raise BuildError(node=target, errstr=str(error)) from None
    except OSError as error:
        raise BuildError(node=target, errstr=str(_refusal(error))) from None


@contextmanager
def reading_stops_cleanly() -> Iterator[None]:
    """While build scripts are read: problems stop SCons, placed at the script's line when they have no place."""
    try:
        yield
    except ProblemError as error:
        place = script_place()
        placed = (problem if problem.where else replace(problem, where=place) for problem in error.problems)
        raise StopError(render(placed) + "\n") from None
    except OSError as error:
        raise StopError(f"{replace(_refusal(error), where=script_place())}\n") from None
    except UserError as error:
        raise StopError(f"{Problem(str(error).strip(), script_place())}\n") from None
    except TypeError as error:
        if not (kinds := _WRONG_KIND.fullmatch(str(error))):
            raise
        what = f"`{_shown(kinds['path'])}` is a {_KINDS[kinds['is']]}, and a {_KINDS[kinds['wanted']]} is needed there"
        hint = "move it away, or give the other one another name"
        raise StopError(f"{Problem(what, script_place(), hint)}\n") from None


@contextmanager
def declared_once(node: Node, kind: str, name: str) -> Iterator[None]:
    """Around the call that makes `node` the first target of a `kind` of thing: what SCons says of a second one is told.

    An equal second declaration is none for SCons.
    """
    try:
        yield
    except UserError:
        if node.GetTag(_DECLARED) != kind:
            raise
        what = f"there are two {kind} `{name}` in one folder"
        raise BuildScriptError.of(what, "give each a name of its own, or make them one with equal settings") from None
    node.Tag(_DECLARED, kind)


def script_place() -> Place | None:
    """The line of the build script that is being read: the innermost frame outside SCons and this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        ours = file.startswith((_PACKAGE, "<")) or file == contextmanager.__code__.co_filename
        if not ours and f"{os.sep}SCons{os.sep}" not in file:
            return Place(_shown(file), frame.f_lineno)
        frame = frame.f_back
    return None


def _shown(file: str) -> str:
    """A path relative to where SCons was started, when it lies below."""
    from SCons.Script import GetLaunchDir

    relative = os.path.relpath(file, GetLaunchDir()) if os.path.isabs(file) else file
    return file if relative.startswith("..") else relative


def _refusal(error: OSError) -> Problem:
    from tilewright.library.refusals import refused

    return refused(error)
