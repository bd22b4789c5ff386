"""A heavy step as plain values: what it reads, what it makes and how, for this process or any other to carry out.

The function of a step gets the values and its surroundings and gives back the contents of the targets; it knows no
SCons, publishes nothing, and opens no file of the project that is not among the inputs of the step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.scons import pool
from tilewright.scons.errors import one_clean_error
from tilewright.scons.progress import say
from tilewright.scons.scanner import logical
from tilewright.scons.session import include_path, session_of, top_of

if TYPE_CHECKING:
    from tilewright.device.workers import Workers
    from tilewright.toolchain.toolkit import Toolkit

KINDS = {
    "exports": ("tile_exports", "make_exports"),
    "ltoir": ("ltoir", "make_code"),
    "library": ("tilelib", "make_library"),
    "provider": ("provider_library", "make_library"),
    "program": ("tile_program", "make_program"),
    "link": ("link", "make_linked"),
    "bundle": ("mock_caller", "make_files"),
    "capture": ("tile_shader", "make_text"),
    "shader": ("tile_shader", "make_compiled"),
}
"""The function of each kind of step: its module in this room, and its name."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. All paths are POSIX and relative to the top folder; `options` and `tools` are what JSON can hold.

    `sources` and `targets` are in the order of the kind; `needed` are the other files that it may read.  `tools` are
    the identities that the build signed for it.  A `light` step costs less than a process: no launcher gets it.
    """

    kind: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    needed: tuple[str, ...]
    options: Mapping[str, Any]
    tools: Mapping[str, str]
    light: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every file of the project that the step may read, each once."""
        return tuple(dict.fromkeys((*self.sources, *self.needed)))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a step is carried out: the folder that stands for the top one, and the tools of this machine."""

    root: Path
    find_toolkit: Callable[[], Toolkit]
    find_workers: Callable[[], Workers]

    @property
    def toolkit(self) -> Toolkit:
        """The toolkit, looked for when first needed."""
        return self.find_toolkit()

    @property
    def workers(self) -> Workers:
        """The worker processes, started when first needed."""
        return self.find_workers()

    def path(self, name: str) -> Path:
        """The absolute path of one of the step's."""
        return Path(os.path.abspath(self.root / name))

    def paths(self, names: Iterable[str]) -> tuple[Path, ...]:
        """`path` of each."""
        return tuple(map(self.path, names))


@dataclass(frozen=True, slots=True)
class Made:
    """The contents of the targets, in their order, and what is said once they are there."""

    contents: tuple[bytes, ...]
    said: str = ""


Make = Callable[[Step, Surroundings], Made]


def function_of(kind: str) -> Make:
    """The function of a kind of step."""
    module, name = KINDS[kind]
    function: Make = getattr(import_module(f"tilewright.scons.{module}"), name)
    return function


def step_of(
    kind: str,
    target: list[File],
    source: list[File],
    env: Env,
    *,
    signed: Iterable[str],
    options: Mapping[str, Any],
    more: Iterable[File] = (),
    light: bool = False,
) -> Step:
    """The step of an action: its inputs are what SCons has it depend on, and `more`; `signed` is what it signs."""
    from tilewright.scons.signatures import IDENTITIES

    first: Any = target[0]
    needed = [file for child in (*first.children(), *more) for file in _files_of(child)]
    return Step(
        kind,
        tuple(logical(node, env) for node in source),
        tuple(logical(node, env) for node in target),
        tuple(logical(node, env) for node in needed),
        options,
        {name: str(env[name]) for name in signed if name in IDENTITIES},
        light,
    )


def _files_of(child: Any) -> list[File]:
    """A file, and the user's own of which a variant folder holds the copy."""
    if not isinstance(child, File):
        return []
    own = child.srcnode()
    return [child] if own is child or not own.exists() else [child, own]


def folders_for(env: Env) -> list[str]:
    """The folders of TILELIB_INCLUDE_PATH, as an option of a step."""
    return [Path(os.path.relpath(folder, top_of(env))).as_posix() for folder in include_path(env)]


def carry_out(step: Step, target: list[File], env: Env, *, executable: bool = False) -> None:
    """Does the step here, or has the launcher do it; then publishes the targets, all or none of them."""
    from tilewright.library.publish import publish
    from tilewright.scons import launch

    with one_clean_error(target[0]):
        session = session_of(env)
        if session.settings.launcher and not step.light:
            made = launch.through(session.settings.launcher, step, target[0], top_of(env))
        else:
            here = Surroundings(top_of(env), lambda: session.toolkit, pool.workers)
            made = function_of(step.kind)(step, here)
        paths = [Path(node.abspath) for node in target]
        publish(dict(zip(paths, made.contents, strict=True)), executable=paths if executable else ())
        if made.said:
            say(made.said)
