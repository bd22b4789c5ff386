"""What the bytes of a provider depend on besides its exports, its device code and the assembler."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from tilewright.library.process import run_to_end
from tilewright.library.provider.c_compiler import OPTIONS, CCompiler

_VERSION_LIMIT = 60.0  # seconds; the zig wheel unpacks itself at its first call


def provider_identity(compiler: CCompiler) -> str:
    """One string that changes when a provider must be made again: a digest of our sources, the compiler's version.

    The compiler is named by the first line of its `--version`, by its command where it gives none; not by its path.
    """
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), *folder.glob("runtime/*.[ch]")]):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    options = " ".join([*compiler.command[1:], *OPTIONS])
    return f"provider {digest.hexdigest()[:16]}, {version_of(compiler)}, {options}"


def version_of(compiler: CCompiler) -> str:
    """The first line of a compiler's `--version`, its command where it gives none."""
    command = [*compiler.command, "--version"]
    try:
        done = run_to_end(command, environment={**os.environ, "LC_ALL": "C"}, limit=_VERSION_LIMIT)
    except (OSError, subprocess.TimeoutExpired):
        return " ".join(compiler.command)
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    return lines[0] if lines and not done.returncode else " ".join(compiler.command)
