"""Reads a user's source in any supported language: one row a suffix, one `Source` a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.problem import Place, Problem
from tilewright.sources.cuda.front_end import DEVICE_SUFFIX, read_cuda_file
from tilewright.sources.rust.front_end import DEVICE_SUFFIX as RUST_DEVICE_SUFFIX
from tilewright.sources.rust.front_end import read_rust_file
from tilewright.sources.rust.manifest import is_crate
from tilewright.sources.source import Source, SourceError

__all__ = ["SUFFIXES", "Language", "Source", "SourceError", "device_suffix_of", "project_name", "read_source"]

Reader = Callable[..., Source]


@dataclass(frozen=True, slots=True)
class Language:
    """A source language: its front end, and the suffix of the device code it makes."""

    name: str
    read: Reader
    device_suffix: str


SUFFIXES = {
    ".cu": Language("CUDA C++", read_cuda_file, DEVICE_SUFFIX),
    ".rs": Language("Rust", read_rust_file, RUST_DEVICE_SUFFIX),
}
"""The languages by the suffix of their files."""

_PLANNED = {".py": "Python"}
_CPP_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c", ".cuh", ".h", ".hpp"})


def project_name(path: Path, root: Path) -> str:
    """A file's name in messages and in everything that is written: POSIX, relative to the project."""
    return Path(os.path.relpath(path, root)).as_posix()


def read_source(
    path: Path,
    *,
    root: Path,
    library: str,
    include_path: Sequence[Path] = (),
    toolkit_include: Sequence[Path] = (),
) -> Source:
    """Reads `path`, a file of the project at `root`, as the library `library`.

    `include_path` are the user's folders for headers, `toolkit_include` the toolkit's: what is found there only is
    left to the compiler.  Raises SourceError with every problem of the file.
    """
    name = project_name(path, root)
    folders = {"include_path": include_path, "toolkit_include": toolkit_include}
    return _language_of(path, name).read(path, name=name, root=root, library=library, **folders)


def device_suffix_of(path: Path) -> str:
    """The suffix of the device code made of a source: `.device.cu`. SourceError when its language is not supported."""
    return _language_of(path, path.name).device_suffix


def _language_of(path: Path, name: str) -> Language:
    language = SUFFIXES.get(".rs" if is_crate(path) else path.suffix)
    if language is not None:
        return language
    supported = ", ".join(SUFFIXES)
    if path.suffix in _PLANNED:
        what = f"{_PLANNED[path.suffix]} sources are not supported yet"
        raise SourceError(
            [Problem(what, Place(name), hint=f"write the exports in a file of one of these: {supported}")]
        )
    hint = "rename the file to .cu" if path.suffix in _CPP_SUFFIXES else f"the suffixes are {supported}"
    raise SourceError([Problem("tile libraries are not made of this kind of file", Place(name), hint=hint)])
