"""What stands for a target when no architecture was given: whoever asks for it learns the choices."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from SCons.Action import Action
from SCons.Builder import Builder
from SCons.Environment import Base as Env
from SCons.Node.FS import Dir, File
from SCons.Scanner import Scanner

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError, one_clean_error
from tilewright.scons.session import Session

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit

_PROBLEM = "tilelib_problem"


def placeholder(env: Env, root: Dir, target: File, session: Session) -> File:
    """Makes `target` one that fails before anything is touched, in dry runs too; only then is a toolkit looked for.

    BuildScriptError at once when the command line names a target below `root`/<architecture>.
    """
    if named := [name for name, path in targets_on_command_line().items() if _below(path, root)]:
        raise BuildScriptError([problem_of(arch_required(session.toolkit), named[0])])
    return refused(env, target, lambda: arch_required(session.toolkit))


def refused(env: Env, target: File, problem: Callable[[], Problem]) -> File:
    """Makes `target` one that fails with a problem when the build comes to it, in dry runs too."""
    make = Builder(action=Action(_never, None), target_scanner=Scanner(_refuse), target_factory=env.File)
    (node,) = make(env, target=target, source=[])
    node.Tag(_PROBLEM, problem)
    env.NoClean(node)
    return node


def arch_required(toolkit: Toolkit) -> Problem:
    """The problem that no `arch` was given, or that there is no toolkit to choose from at all."""
    from tilewright.toolchain.toolkit import missing

    choices = toolkit.architectures()
    if not choices:
        return missing(toolkit, "nvrtc")
    example = "sm_120" if "sm_120" in choices else choices[-1]
    return Problem(
        "`arch` is missing: the code inside a tile library is built for one architecture",
        hint=f"arch={example}\nchoose from: {', '.join(choices)}",
    )


def problem_of(problem: Problem, target: str) -> Problem:
    """The same problem, about a target that was named."""
    return Problem(f"`{target}` is not declared, because {problem.what}", hint=problem.hint)


def targets_on_command_line() -> dict[str, str]:
    """The targets as given, each with its absolute path."""
    from SCons.Script import COMMAND_LINE_TARGETS, GetLaunchDir

    return {target: os.path.normpath(os.path.join(GetLaunchDir(), target)) for target in COMMAND_LINE_TARGETS}


def is_architecture(name: str) -> bool:
    """Whether a folder's name is spelled like an architecture."""
    from tilewright.toolchain.architectures import normalize
    from tilewright.toolchain.toolkit import ToolchainError

    try:
        normalize(name)
    except ToolchainError:
        return False
    return name.startswith("sm_")


def _below(target: str, root: Dir) -> bool:
    parts = os.path.relpath(target, root.get_abspath()).split(os.sep)
    return is_architecture(parts[0])


def _refuse(node: Any, env: Env, path: Any = ()) -> list[File]:
    with one_clean_error(node):
        raise BuildScriptError([node.GetTag(_PROBLEM)()])


def _never(target: list[File], source: list[File], env: Env) -> None:
    raise AssertionError("the scanner refuses this target first")
