"""What a `tileiras` says about itself. Spec: The tileiras requirement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.problem import Problem
from tilewright.toolchain.answers import ask, excerpt
from tilewright.toolchain.error import ToolchainError

FIRST_PACKING_VERSION = (13, 5)

_RELEASE = re.compile(r"release (\d+\.\d+), V(\d+\.\d+(?:\.\d+)*)")
_BUILD = re.compile(r"^Build (\S.*?)\s*$", re.MULTILINE)
_NUMBER = re.compile(r"\d+\.\d+(?:\.\d+)*")
_LISTED = re.compile(r"^\s*(\d+)\.(\d+)\s*$", re.MULTILINE)
_NAME_OPTION = re.compile(r"^\s*--gpu-name\b.*\n((?:\s*=.*\n?)*)", re.MULTILINE)
_NAME = re.compile(r"\bsm_\d+\b")


@dataclass(frozen=True, slots=True)
class Assembler:
    """A `tileiras`: version ("13.5.37"), the text that identifies its build, and what it lists.

    `bytecode_versions` is empty for one that has no `--list-versions`, `architectures` ("sm_80", ...) for one whose
    help names none.
    """

    path: Path
    version: str
    build: str
    origin: str
    bytecode_versions: tuple[tuple[int, int], ...]
    architectures: tuple[str, ...]

    @property
    def can_pack(self) -> bool:
        """Whether it can create tile libraries: its newest bytecode version is 13.5 or newer."""
        return max(self.bytecode_versions, default=(0, 0)) >= FIRST_PACKING_VERSION

    @property
    def listed(self) -> str:
        """What it lists, in a few words: "lists 13.1 to 13.4"."""
        versions = [f"{major}.{minor}" for major, minor in sorted(self.bytecode_versions)]
        if not versions:
            return "lists no bytecode versions"
        return f"lists {versions[0]} to {versions[-1]}" if len(versions) > 1 else f"lists {versions[0]}"


def ask_assembler(path: Path, origin: str, *, cache: Path, environ: Mapping[str, str]) -> Assembler:
    """Ask a `tileiras` for its version, its bytecode versions and its architectures.

    Raises ToolchainError when it dies, hangs or says something else.
    """
    version, build = read_version(ask(path, "--version", cache, environ), path)
    try:
        listing = ask(path, "--list-versions", cache, environ)
    except ToolchainError as error:
        if "exit code" not in error.problems[0].what:
            raise
        versions: tuple[tuple[int, int], ...] = ()
    else:
        versions = read_bytecode_versions(listing, path)
    architectures = read_architectures(ask(path, "--help", cache, environ))
    return Assembler(path, version, build, origin, versions, architectures)


def read_version(text: str, tool: Path) -> tuple[str, str]:
    """Version and build text of `--version`: ("13.5.37", "release 13.5, V13.5.37, Build local.local.39125733_")."""
    release = _RELEASE.search(text)
    build = _BUILD.search(text)
    if release:
        tail = f", Build {build[1]}" if build else ""
        return release[2], release[0] + tail
    number = _NUMBER.search(text)
    if not number:
        raise ToolchainError([_garbage(tool, "--version", "no version", text)])
    return number[0], " ".join(text.split())[:200]


def read_bytecode_versions(text: str, tool: Path) -> tuple[tuple[int, int], ...]:
    """The versions of `--list-versions`, one a line, in its order."""
    versions = tuple((int(major), int(minor)) for major, minor in _LISTED.findall(text))
    if not versions:
        raise ToolchainError([_garbage(tool, "--list-versions", "no bytecode version", text)])
    return versions


def read_architectures(text: str) -> tuple[str, ...]:
    """The values that `--help` shows for `--gpu-name`, else every `sm_` name that it mentions, in its order."""
    block = _NAME_OPTION.search(text)
    return tuple(dict.fromkeys(_NAME.findall(block[1] if block and block[1] else text)))


def _garbage(tool: Path, option: str, missing: str, text: str) -> Problem:
    said = excerpt(text).partition("\n")[0]
    return Problem(f"`{tool} {option}` names {missing}; it printed: {said or 'nothing'}", detail=excerpt(text))
