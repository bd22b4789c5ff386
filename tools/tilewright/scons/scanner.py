"""The scanner of sources and device code: which other files of the user a step reads.

Includes are looked for beside the user's own file, never beside the copy in a build folder.  A header that another
step of the build makes counts before it is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from SCons.Environment import Base as Env
from SCons.Errors import UserError
from SCons.Node.FS import File
from SCons.Scanner import Scanner, ScannerBase

from tilewright.scons.session import include_path, original, top_of
from tilewright.sources.languages import RUST

ORIGIN = "tilelib_origin"
CRATES = (".rs", ".toml")
SUFFIXES = (".cu", ".cuh", *CRATES)


def include_scanner(function: Callable[..., list[File]] | None = None) -> ScannerBase:
    """The scanner of `TileExports` and `Ltoir`; another `function` looks in more folders."""
    return Scanner(function=function or headers_of, name="tilelib includes", skeys=list(SUFFIXES))


def headers_of(node: File, env: Env, path: Any = (), *, more: Iterable[Path] = ()) -> list[File]:
    """The user's headers that the file includes, directly or not; none for a file that is not there yet.

    `more` are folders to search after those of the environment.
    """
    from tilewright.sources.cuda.header_search import scan

    if os.path.splitext(node.name)[1] in CRATES:
        return _modules_of(node, env)
    if node.name.endswith(RUST.device_suffix):
        return []

    folders = (*include_path(env), *more)
    found = scan(Path(origin_of(node).get_abspath()), folders, lambda name: made_or_there(name, env))
    files: list[File] = [env.fs.File(os.fspath(header)) for header in found]  # `env.File` would expand a `$` in a name
    return files


def _modules_of(node: File, env: Env) -> list[File]:
    """The other files of the crate that a Rust source is the root of."""
    from tilewright.sources.rust.front_end import scan_rust

    root = Path(origin_of(node).get_abspath())
    return [env.fs.File(os.fspath(file)) for file in scan_rust(root, root=top_of(env)) if file != root]


def origin_of(node: File) -> File:
    """The user's own file from which a `.device.cu` was made; any other file is its own origin."""
    tagged: File | None = node.GetTag(ORIGIN)
    return tagged if tagged is not None else original(node)


def logical(node: File, env: Env) -> str:
    """A file's name in everything that is written: POSIX, relative to the top folder."""
    return Path(os.path.relpath(node.get_abspath(), top_of(env))).as_posix()


def made_or_there(path: str, env: Env) -> bool:
    """Whether the file exists, or some step of this build makes it."""
    return os.path.isfile(path) or _is_made(os.path.normpath(path), env)


def _is_made(path: str, env: Env) -> bool:
    """Whether some step of this build makes the file; asking declares nothing."""
    try:
        node: File = env.fs.File(path, create=False)
    except (UserError, TypeError):
        return False
    return bool(node.is_derived())
