"""The user's own rustc: found, asked for its version, run, and its errors passed on under the user's own paths."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.sources.source import SourceError

NEEDED = (1, 85, 0)
_INSTALL = "https://rustup.rs installs it: any stable release from {needed} on"
_RELEASE = re.compile(r"^release: (\d+)\.(\d+)\.(\d+)", re.MULTILINE)
_LLVM = re.compile(r"^LLVM version: ([\d.]+)", re.MULTILINE)
_SECONDS = 600.0

VARIABLES = (
    *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "RUST_MIN_STACK"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
    *("LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "TILEWRIGHT_ORACLE"),
)
"""The variables of the environment that a compilation sees: those of the compiler, of rustup and of the linker."""


@dataclass(frozen=True, slots=True)
class Rustc:
    """A compiler. `identity` is all that `rustc -vV` prints, `llvm` the version of the LLVM in it."""

    path: str
    release: tuple[int, ...]
    llvm: tuple[int, ...]
    identity: str


def dotted(version: Sequence[int]) -> str:
    """`(1, 85, 0)` as `1.85.0`."""
    return ".".join(map(str, version))


def find_rustc(environ: Mapping[str, str], *, folder: Path) -> Rustc:
    """The rustc of `RUSTC`, else on `PATH`, else in `~/.cargo/bin`, as it answers in `folder` (rustup asks the folder).

    SourceError when there is none, or one older than `NEEDED`; both say what is there and what is needed.
    """
    path = _located(environ)
    identity = _answer(path, environ, folder)
    release = _RELEASE.search(identity)
    if release is None:
        raise SourceError([Problem(f"`{path}` does not answer like a rustc", detail=identity, hint=_install())])
    version = tuple(map(int, release.groups()))
    if version < NEEDED:
        what = f"rustc {dotted(version)} is too old, {dotted(NEEDED)} or newer is needed: {path}"
        raise SourceError([Problem(what, hint="rustup update stable")])
    llvm = _LLVM.search(identity)
    return Rustc(path, version, tuple(map(int, llvm[1].split("."))) if llvm else (), identity)


def _install() -> str:
    return _INSTALL.format(needed=dotted(NEEDED))


def _located(environ: Mapping[str, str]) -> str:
    if chosen := environ.get("RUSTC"):
        found = shutil.which(chosen, path=environ.get("PATH", ""))
        if found is None:
            raise SourceError([Problem(f"RUSTC names `{chosen}`, which cannot be run", hint="unset RUSTC")])
        return found
    home = environ.get("CARGO_HOME") or os.path.join(environ.get("HOME", ""), ".cargo")
    found = shutil.which("rustc", path=environ.get("PATH", "")) or shutil.which(os.path.join(home, "bin", "rustc"))
    if found is None:
        what = f"Rust sources need rustc {dotted(NEEDED)} or newer, and none was found: not on PATH, not in {home}/bin"
        raise SourceError([Problem(what, hint=_install())])
    return found


def _answer(path: str, environ: Mapping[str, str], folder: Path) -> str:
    done = start([path, "-vV"], environ, folder)
    if done.returncode:
        detail = (done.stdout + done.stderr).strip()
        raise SourceError([Problem(f"`{path} -vV` failed", detail=detail, hint=_install())])
    return done.stdout


def start(command: Sequence[str], environ: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a command; SourceError when it does not start or does not end."""
    try:
        return subprocess.run(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, ValueError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else str(failure)
        raise SourceError([Problem(f"`{command[0]}` did not start: {reason}")]) from failure
    except subprocess.TimeoutExpired as late:
        raise SourceError([Problem(f"`{command[0]}` gave no answer within {_SECONDS:.0f} seconds")]) from late


def compile_rust(
    rustc: Rustc, arguments: Sequence[str], *, folder: Path, environ: Mapping[str, str], bootstrap: bool = False
) -> str:
    """Runs the compiler in `folder`: its warnings, "" when there are none; SourceError with each of its errors.

    Both are in its own words.

    `bootstrap` admits unstable features in a stable compiler; without it no variable of the user's does.  The compiler
    sees `VARIABLES` alone: what a source took from any other with `env!` would be in no signature.
    """
    variables = {name: environ[name] for name in VARIABLES if name in environ}
    variables["RUSTC_ICE"] = "0"  # no crash report in the user's folder
    if bootstrap:
        variables["RUSTC_BOOTSTRAP"] = "1"
    done = start([rustc.path, "--error-format=json", *arguments], variables, folder)
    if done.returncode == 0:
        return "\n".join(_warnings(done.stderr))
    problems = list(_errors(done.stderr))
    if not problems:
        detail = done.stderr.strip() or f"exit code {done.returncode}"
        problems = [Problem(f"rustc {dotted(rustc.release)} failed", detail=detail)]
    raise SourceError(problems)


def _messages(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            message = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(message, dict):
            yield message


def _warnings(output: str) -> Iterator[str]:
    """Those at a place in the source; the count of them is not."""
    for message in _messages(output):
        if message.get("level") == "warning" and message.get("spans"):
            yield str(message.get("rendered") or message["message"]).strip("\n")


def _errors(output: str) -> Iterator[Problem]:
    for message in _messages(output):
        if not str(message.get("level", "")).startswith("error"):
            continue
        spans = message.get("spans") or []
        if not spans and re.match(r"aborting due to|could not compile", message["message"]):
            continue
        primary = next((span for span in spans if span["is_primary"]), None)
        where = Place(primary["file_name"], primary["line_start"], primary["column_start"]) if primary else None
        code = (message.get("code") or {}).get("code", "")
        rendered = str(message.get("rendered") or "").strip("\n").partition("\n")[2]
        yield Problem(f"rustc: {message['message']}", where, rule=code, detail=rendered)
