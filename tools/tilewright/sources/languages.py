"""The source languages as data: which files belong to one, and what its device code is. Loads no front end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tilewright.problem import Place, Problem
from tilewright.sources.source import SourceError

MANIFEST = "Cargo.toml"


@dataclass(frozen=True, slots=True)
class Language:
    """A source language: the suffix of its files and of its device code, and which compiler takes the latter."""

    name: str
    suffix: str
    device_suffix: str
    device: str


CUDA = Language("CUDA C++", ".cu", ".device.cu", "cuda")
RUST = Language("Rust", ".rs", ".ll", "nvvm")
LANGUAGES = {language.suffix: language for language in (CUDA, RUST)}
"""The languages by the suffix of their files."""

_PLANNED = {".py": "Python"}
_CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c", ".cuh", ".h", ".hpp"})


def is_crate(path: Path) -> bool:
    """Whether a path is a Rust crate: a folder with a manifest, or the manifest itself."""
    return path.name == MANIFEST or (path / MANIFEST).is_file()


def language_of(path: Path, name: str) -> Language:
    """The language of a source, called `name` in messages. SourceError when it is none that is supported."""
    language = RUST if is_crate(path) else LANGUAGES.get(path.suffix)
    if language is not None:
        return language
    supported = ", ".join(LANGUAGES)
    if path.suffix in _PLANNED:
        what = f"{_PLANNED[path.suffix]} sources are not supported yet"
        hint = f"write the exports in a file of one of these: {supported}"
        raise SourceError([Problem(what, Place(name), hint=hint)])
    hint = "rename the file to .cu" if path.suffix in _CPP_SUFFIXES else f"the suffixes are {supported}"
    raise SourceError([Problem("tile libraries are not made of this kind of file", Place(name), hint=hint)])


def language_of_device_code(path: Path, name: str) -> Language:
    """The language whose device code a file is, by its suffix. SourceError for any other file."""
    for language in LANGUAGES.values():
        if path.name.endswith(language.device_suffix):
            return language
    suffixes = ", ".join(language.device_suffix for language in LANGUAGES.values())
    raise SourceError([Problem("this is no device code", Place(name), hint=f"the suffixes are {suffixes}")])
