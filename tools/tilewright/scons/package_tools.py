"""Which tools made what goes into a package: what the steps behind its files signed says it.

A tool that is missing is left out: it is the step that fails then, not the reading of the script.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from SCons.Environment import Base as Env
from SCons.Node.FS import File

from tilewright.problem import ProblemError
from tilewright.scons.guard import WHOLE
from tilewright.scons.session import session_of
from tilewright.scons.signatures import IDENTITIES


def tools_behind(env: Env, nodes: Iterable[File]) -> dict[str, str]:
    """The identities of the tools that made `nodes`, or anything of ours that they are made of, by name."""
    from tilewright.packages import tools

    toolkit = session_of(env).toolkit
    others: dict[str, Callable[[], str]] = {
        tools.RUSTC: _rustc,
        tools.LLVMLITE: _llvmlite,
        tools.OXIDE: _oxide,
        tools.C_COMPILER: _c_compiler,
        tools.HOST_COMPILER: lambda: _host_compiler(toolkit.cache),
    }
    return tools.tools_of(set(_steps(nodes)), toolkit, others)


def _steps(nodes: Iterable[File]) -> Iterator[str]:
    """The kinds of our steps behind nodes: `TILELIB_RUST_SIG` of an action makes it the step `rust`."""
    seen: set[Any] = set()
    left: list[Any] = list(nodes)
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        left += node.sources
        if node.GetTag(WHOLE):
            for variable in _signed(node):
                yield variable.removeprefix("TILELIB_").removesuffix("_SIG").lower()


def _signed(node: Any) -> Iterator[str]:
    """The identities that the action of an output of ours signs."""
    executor = node.get_executor()
    targets, sources = executor.get_all_targets(), executor.get_all_sources()
    for action in executor.get_action_list():
        yield from (
            name for name in action.get_varlist(targets, sources, executor.get_build_env()) if name in IDENTITIES
        )


@functools.cache
def _rustc() -> str:
    from tilewright.sources.rust.rustc import find_rustc

    with suppress(ProblemError):
        return find_rustc(os.environ, folder=Path(os.getcwd())).identity.partition("\n")[0]
    return ""


def _llvmlite() -> str:
    from importlib.metadata import version

    return f"llvmlite {version('llvmlite')}"


def _oxide() -> str:
    from tilewright.sources.rust.oxide import oxide_identity

    return oxide_identity(os.environ.get("PATH", ""), Path(os.getcwd()))


@functools.cache
def _c_compiler() -> str:
    from tilewright.library.provider.c_compiler import find_c_compiler
    from tilewright.library.provider.identity import version_of

    with suppress(ProblemError):
        return version_of(find_c_compiler(os.environ))
    return ""


@functools.cache
def _host_compiler(cache: Path) -> str:
    from tilewright.toolchain.host_compiler import host_compiler_identity

    return host_compiler_identity(os.environ, cache)
