"""What the builders of one environment share: its settings, and the toolkit, looked for when first needed."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons.progress import say
from tilewright.scons.variables import Settings

if TYPE_CHECKING:
    from tilewright.scons.step import Step
    from tilewright.toolchain.toolkit import Toolkit

SESSION = "TILELIB_SESSION"
INCLUDE_PATH = "TILELIB_INCLUDE_PATH"
BUILD_FOLDER = "TILELIB_BUILD_DIR"

_READ_BY_RESOLVE = (
    *("PATH", "CUDA_HOME", "CUDA_PATH", "CUTILE_TILEIRAS_PATH"),
    *("TILEWRIGHT_CACHE", "XDG_CACHE_HOME", "HOME"),
)


class Session:
    """Settings and toolkit of one environment; clones of the environment share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def toolkit(self) -> Toolkit:
        """The resolved toolkit. ToolchainError only when the user named something that is wrong."""
        relevant = tuple(os.environ.get(name, "") for name in _READ_BY_RESOLVE)
        return _resolved(relevant, self.settings.verbose)


@functools.cache
def _resolved(_relevant: tuple[str, ...], verbose: bool) -> Toolkit:
    from tilewright.toolchain.toolkit import resolve

    toolkit = resolve(os.environ)
    lines = [f"tilewright: {note}" for note in toolkit.notes]
    if verbose:
        lines += [f"tilewright: {one.name} {one.version} {one.path} ({one.origin})" for one in toolkit.components()]
    if lines:
        say("\n".join(lines))
    return toolkit


def session_of(env: Env) -> Session:
    """The session that `generate` put into the environment."""
    session: Session = env[SESSION]
    return session


def top_of(env: Env) -> Path:
    """The folder of the top SConstruct: every logical path is relative to it."""
    return Path(env.Dir("#").abspath)


def include_folders(env: Env) -> list[Any]:
    """TILELIB_INCLUDE_PATH as a list; one string holds several folders as CPPPATH does."""
    folders = env.get(INCLUDE_PATH, [])
    return folders.split(os.pathsep) if isinstance(folders, str) else list(folders)


def include_path(env: Env) -> tuple[Path, ...]:
    """The folders of TILELIB_INCLUDE_PATH, in order, absolute."""
    return tuple(Path(env.Dir(folder).abspath) for folder in include_folders(env))


def launched_line(step: Callable[[Any, Any, Env], Step], target: list[File], source: list[File], env: Env) -> str:
    """The command of a launched step under `verbose=1`; empty for what is not launched, or without it."""
    from tilewright.scons.launch import command_of

    settings = session_of(env).settings
    if not (settings.launcher and settings.verbose):
        return ""
    launched = step(target, source, env)
    return "" if launched.light else shlex.join(command_of(settings.launcher, launched))


def original(source: File) -> File:
    """The user's own file behind a variant folder's copy; a generated file is its own original."""
    if source.is_derived():
        return source
    own = source.srcnode()
    return own if own is source or own.exists() else source


def message(
    brief: str,
    command: Callable[[Any, Any, Env], str] | None = None,
    step: Callable[[Any, Any, Env], Step] | None = None,
) -> Callable[[Any, Any, Env], str]:
    """The line SCons prints before a step: `brief` with {target} and {source}; the command under `verbose=1`.

    That of a `step` which a launcher gets is the launcher's.
    """

    def line(target: list[File], source: list[File], env: Env) -> str:
        if step is not None and (launched := launched_line(step, target, source, env)):
            return launched
        if command is not None and session_of(env).settings.verbose:
            return command(target, source, env)
        return brief.format(target=target[0], source=source[0])

    return line
