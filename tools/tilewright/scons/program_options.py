"""The files that options of nvcc name: headers, objects, libraries. They are inputs of a program like any other."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError
from tilewright.toolchain.host_compiler import FLAG_VARIABLES

HEADER_VARIABLES = ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH")
LIBRARY_VARIABLE = "LIBRARY_PATH"

_INCLUDING = re.compile(r"(?:-I|-isystem|--include-path|--system-include)=?(.*)")
_SEARCHED = re.compile(r"(?:-L|--library-path)=?(.*)")
_LINKED = re.compile(r"(?:--library=?|-l=?)(.*)")
_UNSEEN = re.compile(r"@.+|(?:-optf|--options-file)(?:=.*)?|-M\w*(?:=.*)?|--generate-\w*-?dependenc.*|--dependency-.*")
_SEPARATORS = re.compile(r"[=,]")
_CODE = (".o", ".obj", ".a", ".so", ".cubin", ".fatbin")
"""Suffixes of what includes nothing."""


def check_options(options: Iterable[str]) -> None:
    """BuildScriptError for options that would read more options from a file, or have nvcc write other files."""
    for option in options:
        if _UNSEEN.fullmatch(option):
            what = f"`{option}` cannot be given to a tile program: what it reads or writes is hidden from the build"
            hint = "write options into options=[...]; the build finds out by itself which headers are read"
            raise BuildScriptError([Problem(what, hint=hint)])


def words_of(options: Iterable[str], environ: Mapping[str, str]) -> list[str]:
    """All options that nvcc gets, those in variables of the environment too."""
    before, after = ((environ.get(name, "")) for name in FLAG_VARIABLES)
    return [*_split(before), *options, *_split(after)]


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def folders_in(options: Iterable[str]) -> Iterator[str]:
    """The folders in which options of nvcc have it look for headers: `-Ia,b`, `-I a`, `--include-path=a` and such."""
    return _values(_INCLUDING, options)


def header_folders(environ: Mapping[str, str]) -> Iterator[str]:
    """The folders in which variables of the environment have the host's compiler look for headers."""
    for name in HEADER_VARIABLES:
        yield from filter(None, environ.get(name, "").split(os.pathsep))


def named_files(
    options: Sequence[str], environ: Mapping[str, str], top: Path, is_there: Callable[[str], bool] = os.path.isfile
) -> tuple[Path, ...]:
    """The files that options name, by path or as `-lfoo` in a folder given by `-L` or `LIBRARY_PATH`; in their order.

    A library that is in none of these folders is one of the system, like the compiler that looks for it.
    """
    words = words_of(options, environ)
    found = [Path(top, part) for word in words for part in _parts(word) if is_there(os.path.join(top, part))]
    folders = [*_values(_SEARCHED, words), *filter(None, environ.get(LIBRARY_VARIABLE, "").split(os.pathsep))]
    for name in _values(_LINKED, words):
        files = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        paths = [Path(top, folder, file) for folder in folders for file in files]
        found += [path for path in paths if is_there(str(path))]
    return tuple(dict.fromkeys(Path(os.path.normpath(path)) for path in found))


def includes_others(file: Path) -> bool:
    """Whether a named file may include others: it is no machine code."""
    return not file.name.endswith(_CODE) and ".so." not in file.name


def _parts(word: str) -> Iterator[str]:
    """What of a word may be a path: all of it, and what stands between `=` and `,`."""
    yield from dict.fromkeys(part for part in (word, *_SEPARATORS.split(word)) if part and not part.startswith("-"))


def _values(option: re.Pattern[str], words: Iterable[str]) -> Iterator[str]:
    left = iter(words)
    for word in left:
        if found := option.fullmatch(word):
            yield from filter(None, (found[1] or next(left, "")).split(","))
