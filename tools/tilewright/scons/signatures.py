"""One identity string a kind of action, naming only what can change its bytes.

SCons signs the code of one function and nothing that it calls, so every action lists its identity in `varlist`.
Adding a room to `ROOMS` is all that is needed when an action begins to use it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from SCons.Environment import Base as Env

from tilewright.scons.run_mode import cleaning
from tilewright.scons.session import session_of

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit

PACKAGE = Path(__file__).parents[1]

HEADERS = ("nvcc", "cccl")
"""The components whose versions stand for the headers that come with a toolkit."""

ROOMS: dict[str, tuple[str, ...]] = {
    "exports": ("problem.py", "exports", "sources", "device/standard_headers.py", "scons/tile_exports.py"),
    "ltoir": ("exports", "sources", "scons/ltoir.py"),
    "bytecode": ("exports", "bytecode", "scons/tile_bytecode.py"),
    "library": ("bytecode", "library", "scons/tilelib.py"),
}


def exports_identity(toolkit: Toolkit) -> str:
    """The front ends; no native tool takes part."""
    return f"exports {source_digest('exports')}"


def ltoir_identity(toolkit: Toolkit) -> str:
    """The compilers and our device sources, the toolkit's headers, and how the translation unit is put together.

    A compiler that is missing makes an identity too: it is the step that fails then, not the reading of the script.
    """
    from tilewright.device.identity import ltoir_identity as compilers
    from tilewright.toolchain.toolkit import ToolchainError

    try:
        parts = [compilers(toolkit, "cuda")]
    except ToolchainError as error:
        parts = [f"missing: {error}"]
    parts += [toolkit.identity(name) for name in HEADERS if toolkit.component(name)]
    return "; ".join([*parts, source_digest("ltoir")])


def bytecode_identity(toolkit: Toolkit) -> str:
    """The writer and the bytecode version number; a new assembler of the same version changes nothing."""
    major, minor = toolkit.bytecode_version()
    return f"bytecode {major}.{minor} {source_digest('bytecode')}"


def library_identity(toolkit: Toolkit) -> str:
    """The assembler's own build text, never a hash of its 107 MB, and our packing code."""
    assembler = toolkit.identity("assembler") if toolkit.assembler else "no tileiras"
    return f"{assembler} {source_digest('library')}"


IDENTITIES: dict[str, Callable[[Toolkit], str]] = {
    "TILELIB_EXPORTS_SIG": exports_identity,
    "TILELIB_LTOIR_SIG": ltoir_identity,
    "TILELIB_BYTECODE_SIG": bytecode_identity,
    "TILELIB_LIBRARY_SIG": library_identity,
}


def sign(env: Env, variable: str) -> None:
    """Puts the identity of a kind of action into `env`, unless one is there; a run that only cleans needs none."""
    if variable not in env and not cleaning():
        env[variable] = IDENTITIES[variable](session_of(env).toolkit)


@functools.cache
def source_digest(kind: str) -> str:
    """SHA-256 over the Python sources of the rooms of a kind of action, by relative path and text."""
    digest = hashlib.sha256()
    for part in ROOMS[kind]:
        for relative, text_digest in _sources(part):
            digest.update(f"{relative}\0{text_digest}\0".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _sources(part: str) -> tuple[tuple[str, str], ...]:
    path = PACKAGE / part
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return tuple((file.relative_to(PACKAGE).as_posix(), _digest(file.read_bytes())) for file in files)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
