"""What a verification bundle depends on besides its sources, as one string for build signatures."""

from __future__ import annotations

import functools
import hashlib
import shlex
import subprocess
from pathlib import Path

from tilewright.callers.error import CallerError
from tilewright.problem import Problem
from tilewright.toolchain.toolkit import Toolkit

PARTS = ("host", "mock", "oracle", "bundle.py", "foreign.py", "inputs.py", "templates.py", "verification.py")
"""The files and folders of this room that can change a bundle."""

COMPONENTS = ("nvrtc", "nvvm", "libdevice", "nvjitlink")


def caller_identity(toolkit: Toolkit) -> str:
    """For the mock caller and its link: versions of the compilers and the linker, and a digest of our own sources."""
    return "; ".join([*(toolkit.identity(name) for name in COMPONENTS), f"callers {_digest()}"])


def bundle_identity(toolkit: Toolkit, compiler: str) -> str:
    """For a bundle: the caller's, the first line that the host's C++ compiler prints of its version, and its options.

    Options are the further words of `compiler`, as of `CXX="g++ -O2"`.
    """
    if not compiler:
        return f"{caller_identity(toolkit)}; no C++ compiler"
    return " ".join([f"{caller_identity(toolkit)};", compiler_version(compiler), *shlex.split(compiler)[1:]])


@functools.cache
def compiler_version(compiler: str) -> str:
    """`g++ (Debian 12.2.0-14) 12.2.0`; `CallerError` when it does not run."""
    try:
        command = [*shlex.split(compiler), "--version"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise CallerError([Problem(f"cannot run the C++ compiler {compiler}: {error}")]) from None
    return (done.stdout.splitlines() or [compiler])[0]


@functools.cache
def _digest() -> str:
    room = Path(__file__).parent
    files = [room / part for part in PARTS if (room / part).is_file()]
    files += [file for part in PARTS for file in (room / part).rglob("*") if file.suffix in (".py", ".j2", ".h")]
    digest = hashlib.sha256()
    for file in sorted(files):
        data = file.read_bytes()
        digest.update(f"{file.relative_to(room).as_posix()} {len(data)}\n".encode())
        digest.update(data)
    return digest.hexdigest()
