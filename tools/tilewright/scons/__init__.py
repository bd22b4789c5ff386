"""The SCons tool: `env = Environment(tools=["default", tilewright.scons.generate])`, then `env.TileLibrary(...)`.

This is the whole promise of the room.  Importing it loads neither SCons nor any other room, so that a build script
which never asks for a tile library pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from SCons.Environment import Base

__all__ = ["check_variables", "exists", "generate", "help_text", "options"]


def generate(env: Base, **settings: Any) -> None:
    """Adds the builders to `env`; `settings` are defaults for the build variables (`arch="sm_120"`)."""
    from tilewright.scons.tool import add_to

    add_to(env, settings)


def exists(env: Base) -> bool:
    """True: a missing CUDA tool is an error where it is used, not where the tool is loaded."""
    return True


def options(variables: Any) -> None:
    """Adds our build variables, as `tilelib_<name>` with the short name as alias, to an SCons `Variables` object."""
    from tilewright.scons.variables import add_options

    add_options(variables)


def check_variables(known: Iterable[str] = ()) -> None:
    """Stops the build when the command line sets a variable that neither we nor `known` have, or sets one twice.

    Meant for the top SConstruct, which alone knows every variable of its build; `generate` never calls it.
    """
    from tilewright.scons.errors import reading_stops_cleanly
    from tilewright.scons.variables import check_command_line

    with reading_stops_cleanly():
        check_command_line(known)


def help_text() -> str:
    """The build variables, one a paragraph, and the targets with a name of their own, for `Help()`."""
    from tilewright.scons.variables import help_text as text

    return text()
