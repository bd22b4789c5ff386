"""Targets that this machine cannot make: left out of the default targets with one line, an error when asked for.

A run without named targets passes them over, whether `Default` lists them or the folder they lie in is built; a run
that names a folder, too.  Asked for by name, by an alias or by another target, they fail with the reason.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import SCons.Node
from SCons.Action import Action
from SCons.Environment import Base as Env
from SCons.Errors import BuildError
from SCons.Node.FS import Entry

from tilewright.problem import Problem, ProblemError, render
from tilewright.scons import run_mode
from tilewright.scons.artifacts import TileLibrary
from tilewright.scons.calls import files_given
from tilewright.scons.errors import BuildScriptError, reading_stops_cleanly
from tilewright.scons.missing_arch import targets_on_command_line
from tilewright.scons.progress import say

REASON = "tilelib_unavailable"

SENTENCE = (
    "Where a program is missing (`rustc`, or any that is looked for on PATH), leaves targets out of the default ones."
)


def leave_out(env: Env, nodes: list[Any], name: str, why: Problem) -> None:
    """Takes declared nodes out of the default targets, saying once that `name` (if any) is left out and why."""
    if run_mode.cleaning() or run_mode.helping() or not nodes:
        return
    named = targets_on_command_line()
    for node in nodes:
        env.Ignore(node.dir, node)
        node.Tag(REASON, why)
        node.Decider(_refuse_consumer)
        if not named:
            node.set_state(SCons.Node.up_to_date)  # the scheduler passes over what has been dealt with
    env.AddPreAction(nodes, Action(_refuse, None))
    if name and all(_holds(path, node) for path in named.values() for node in nodes):
        say(f"tilewright: {name} is left out: {why.what}")


def tile_needs(env: Env, targets: Any, program: str) -> list[Any]:
    """The method of the environment: `targets` are left out where `program` is missing; returns them."""
    with reading_stops_cleanly():
        nodes = _all_nodes(env, targets)
        if not isinstance(program, str):
            raise BuildScriptError.of(f"`{program!r}` is no program", 'env.TileNeeds(library, "rustc")')
        why = FINDERS.get(program, lambda: _on_path(program))()
        if why is not None:
            name = targets.name if isinstance(targets, TileLibrary) else ", ".join(str(node) for node in nodes)
            leave_out(env, nodes, name, why)
        return nodes


def reason_of(node: Any) -> Problem | None:
    """Why a node was left out, None for any other node."""
    why: Problem | None = node.GetTag(REASON)
    return why


def _all_nodes(env: Env, targets: Any) -> list[Any]:
    """Every node of a library, not its `.tilelib` alone; of a run without `arch` none, whose error comes first."""
    if isinstance(targets, TileLibrary):
        return [node for artifacts in targets.parts.values() for node in artifacts.nodes()]
    return files_given(env, targets)


def _on_path(program: str) -> Problem | None:
    if shutil.which(program):
        return None
    return Problem(f"there is no {program} on PATH", hint=f"install {program}")


def _rustc() -> Problem | None:
    from tilewright.sources.rust.rustc import find_rustc

    try:
        find_rustc(os.environ, folder=Path.cwd())
    except ProblemError as error:
        return error.problems[0]
    return None


FINDERS: dict[str, Callable[[], Problem | None]] = {"rustc": _rustc}
"""How a program is looked for that is not simply one on PATH."""


def _refuse(target: list[Any], source: list[Any], env: Env) -> None:
    raise BuildError(target[0], f"{target[0]} cannot be made here:\n{render([target[0].GetTag(REASON)])}")


def _refuse_consumer(dependency: Any, target: Any, previous: Any, repository: Any = None) -> bool:
    """The decider of such a node: SCons asks it only when it looks at something that depends on the node."""
    why = render([dependency.GetTag(REASON)])
    raise BuildError(target, f"{target} needs {dependency}, which cannot be made here:\n{why}")


def _holds(folder: str, node: Entry) -> bool:
    """Whether a path is a folder above the node, so that naming it asks for what is in it."""
    return node.get_abspath().startswith(os.path.join(folder, ""))
