"""The targets that only some builders declare, in a project whose scripts call none of these: who would make them.

SCons looks a target of the command line up when all scripts are read, as an alias and then as a file.  What is neither
gets one clear error here; any target, alias or file of the user's own that has such a name stays what it is.
"""

from __future__ import annotations

import os
from typing import Any

import SCons.Node
import SCons.Script
from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.problem import Problem
from tilewright.scons import metal_check, mock_caller, run_mode, tile_package
from tilewright.scons.missing_arch import refused, targets_on_command_line

_MOCK_CALLER = "env.TileMockCaller(library) in a build script declares it, for what TileLibrary returns"

MAKERS = {
    mock_caller.VERIFY: _MOCK_CALLER,
    mock_caller.EMULATE: _MOCK_CALLER,
    metal_check.ALIAS: 'env.TileShader(...) in a build script declares it, unless its `backends=` are without "metal"',
    tile_package.ALIAS: 'env.TilePackage("name", [library], version="1.0") in a build script declares it',
}
"""What declares each alias, for a hint."""

_watched: list[str] = []


def watch(env: Env) -> None:
    """Has those of the aliases that the command line names looked at when the scripts are read."""
    if run_mode.cleaning() or run_mode.helping() or _watched:
        return
    _watched.extend(MAKERS.keys() & targets_on_command_line().keys())
    if _watched:
        SCons.Node.arg2nodes_lookups.append(lambda name, **given: _found(env, name, **given))


def _found(env: Env, name: Any, curdir: str = "", **_given: Any) -> File | None:
    """A target that fails, for an alias that nothing declares; None for all else, and while scripts are read."""
    if SCons.Script.sconscript_reading or name not in _watched:
        return None
    entry = env.fs.Entry(os.path.join(curdir, name))
    if entry.is_derived() or entry.disambiguate().exists():
        return None
    problem = Problem(f"nothing in the build scripts declares `{name}`", hint=MAKERS[name])
    return refused(env, env.fs.File(entry.get_abspath()), lambda: problem)
