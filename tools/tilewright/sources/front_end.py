"""Reads a user's source in any supported language: one row a language, one `Source` a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.device.module import DeviceModule
from tilewright.sources.cuda.front_end import read_cuda_file
from tilewright.sources.cuda.includes import translation_unit as cuda_unit
from tilewright.sources.languages import CUDA, RUST, Language, language_of
from tilewright.sources.rust.front_end import read_rust_file
from tilewright.sources.rust.front_end import translation_unit as rust_unit
from tilewright.sources.source import Source, SourceError

__all__ = ["FRONT_ENDS", "FrontEnd", "Source", "SourceError", "project_name", "read_source", "translation_unit"]


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """How a language's source is read, and how its device code becomes what the device compiler gets."""

    read: Callable[..., Source]
    translation_unit: Callable[..., DeviceModule]


FRONT_ENDS: dict[Language, FrontEnd] = {
    CUDA: FrontEnd(read_cuda_file, cuda_unit),
    RUST: FrontEnd(read_rust_file, rust_unit),
}


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
    nightly_f16: bool = False,
) -> Source:
    """Reads `path`, a file of the project at `root`, as the library `library`.

    `include_path` are the user's folders for headers, `toolkit_include` the toolkit's: what is found there only is
    left to the compiler.  `nightly_f16` admits `f16` in Rust, by RUSTC_BOOTSTRAP=1; other languages have it anyway.
    Raises SourceError with every problem of the file.
    """
    name = project_name(path, root)
    language = language_of(path, name)
    options = {"nightly_f16": nightly_f16} if language is RUST else {}
    folders = {"include_path": include_path, "toolkit_include": toolkit_include}
    return FRONT_ENDS[language].read(path, name=name, root=root, library=library, **folders, **options)


def translation_unit(
    language: Language,
    text: str,
    *,
    origin: str,
    root: Path,
    include_path: Sequence[Path] = (),
    toolkit_include: Sequence[Path] = (),
) -> DeviceModule:
    """What the device compiler gets from the device code made of the source `origin` (a project name)."""
    folders = {"include_path": include_path, "toolkit_include": toolkit_include}
    return FRONT_ENDS[language].translation_unit(text, origin=origin, root=root, **folders)
