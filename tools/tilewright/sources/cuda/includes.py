"""The user's headers: found on disk, given logical names, and put in memory beside the translation unit.

The compiler writes the absolute paths of headers into its output.  So it never opens a user's header itself: it gets
each one under a name like `/tw/examples/a/k.cuh`, and the directives are rewritten to these names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.device.module import LOGICAL_ROOT, DeviceModule
from tilewright.device.standard_headers import STANDARD_HEADERS
from tilewright.problem import Problem
from tilewright.sources.cuda.directives import Include, includes
from tilewright.sources.cuda.header_search import find_header
from tilewright.sources.cuda.lexer import SourceText
from tilewright.sources.cuda.wrappers import quoted
from tilewright.sources.source import SourceError
from tilewright.sources.text import read_text

OUTSIDE = "_outside"
_PREAMBLE = re.compile(r'// Written by tilewright [^\n]*\n#line 1 "[^\n]*\n')
_TOOLKIT = re.compile(
    r"(cuda|cooperative_groups|nv|cub/|thrust/|crt/|cute/|vector_|device_|host_|driver_|math_|mma\.|sm_\d|surface_"
    r"|texture_|channel_|curand|library_types|builtin_types|common_functions|fatbinary|cu[A-Z])\S*"
)


@dataclass(frozen=True, slots=True)
class Header:
    """A user's header: where it lies, the name messages give it, its text."""

    path: Path
    label: str
    text: str

    @property
    def logical(self) -> str:
        """The name under which the compiler gets it."""
        return LOGICAL_ROOT + self.label


@dataclass
class Closure:
    """The headers reached so far, by real path, and the names that folders outside the project were given."""

    root: Path
    include_path: Sequence[Path]
    toolkit_include: Sequence[Path] = ()
    headers: dict[str, Header] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.outside = [folder for folder in map(os.path.abspath, self.include_path) if not _inside(folder, self.root)]

    def find(self, include: Include, folder: Path) -> Header | None:
        """The user's header that a directive in `folder` means, None when it is not the user's."""
        path = find_header(include, folder, self.include_path)
        if path is None:
            return None
        real = os.path.realpath(path)
        if real not in self.headers:
            label = self.label(path)
            self.headers[real] = Header(path, label, read_text(path, label))
        return self.headers[real]

    def label(self, path: Path) -> str:
        """Project-relative, or `_outside/<n>/...`: no folder of this machine."""
        if _inside(str(path), self.root):
            return Path(os.path.relpath(path, self.root)).as_posix()
        for number, base in enumerate(self.outside):
            if _inside(str(path), base):
                return f"{OUTSIDE}/{number}/{Path(os.path.relpath(path, base)).as_posix()}"
        self.outside.append(str(path.parent))
        return self.label(path)

    def take(self, source: SourceText, folder: Path) -> Iterator[tuple[Include, Header]]:
        """The user's headers that a text names; what is missing becomes a problem."""
        for include in includes(source.text):
            header = None if include.computed else self.find(include, folder)
            if header is not None:
                yield include, header
            elif problem := self.missing(source, include, folder):
                self.problems.append(problem)

    def missing(self, source: SourceText, include: Include, folder: Path) -> Problem | None:
        """What to say of a header that is not the user's. What stands inside `#if` is the compiler's to judge."""
        where = source.place(include.start)
        if include.conditional:
            return None
        if include.computed:
            return Problem(
                f"the header is named by the macro `{include.name}`",
                where,
                hint='write its name: #include "name.cuh"; the headers are found before the preprocessor runs',
            )
        if not include.quoted or include.name in STANDARD_HEADERS or self.in_toolkit(include.name):
            return None
        searched = dict.fromkeys(self.shown(place) for place in (folder, *self.include_path))
        return Problem(
            f'there is no header "{include.name}"',
            where,
            hint=f"searched in {', '.join(searched)}\na header of the toolkit goes in brackets: <{include.name}>",
        )

    def in_toolkit(self, name: str) -> bool:
        """Whether a header is the toolkit's; told from its name when the toolkit's folders are not known."""
        if self.toolkit_include:
            return any(folder.joinpath(name).is_file() for folder in self.toolkit_include)
        return _TOOLKIT.fullmatch(name) is not None

    def shown(self, folder: Path) -> str:
        """A folder for a message: project-relative when it is in the project."""
        absolute = os.path.abspath(folder)
        return Path(os.path.relpath(absolute, self.root)).as_posix() if _inside(absolute, self.root) else absolute


def headers_of(source: SourceText, folder: Path, closure: Closure) -> tuple[Header, ...]:
    """Every header a text includes, directly or not, in the order in which they are met."""
    for _ in closure.take(source, folder):
        pass
    done = 0
    while done < len(closure.headers):
        header = list(closure.headers.values())[done]
        for _ in closure.take(SourceText(header.label, header.text), header.path.parent):
            pass
        done += 1
    return tuple(closure.headers.values())


def translation_unit(
    device_text: str,
    *,
    origin: str,
    root: Path,
    include_path: Sequence[Path] = (),
    toolkit_include: Sequence[Path] = (),
) -> DeviceModule:
    """The device module of a `.device.cu` text: headers resolved, renamed to logical names and put in memory.

    `origin` is the project-relative POSIX path of the user's source, from whose folder quoted names are searched.
    What is found in `toolkit_include` only is left to the compiler; without these folders, so is every name that
    looks like one of the toolkit's.  SourceError names each missing header and the folders that were searched.
    """
    root = Path(os.path.abspath(root))
    closure = Closure(root, include_path, toolkit_include)
    folder = root.joinpath(origin).parent
    preamble = _PREAMBLE.match(device_text)
    user_start = preamble.end() if preamble else 0
    source = SourceText(origin, device_text[user_start:])
    text = device_text[:user_start] + _rewritten(source, folder, closure)
    written: list[tuple[str, str]] = []
    while len(written) < len(closure.headers):
        header = list(closure.headers.values())[len(written)]
        body = _rewritten(SourceText(header.label, header.text), header.path.parent, closure)
        written.append((header.logical, f'#line 1 "{quoted(header.label)}"\n{body}'))
    if closure.problems:
        raise SourceError(closure.problems)
    return DeviceModule("cuda", text, origin, tuple(written))


def _rewritten(source: SourceText, folder: Path, closure: Closure) -> str:
    pieces, position = [], 0
    for include, header in closure.take(source, folder):
        pieces += [source.text[position : include.start], f'"{header.logical}"']
        position = include.end
    return "".join([*pieces, source.text[position:]])


def _inside(path: str, folder: str | Path) -> bool:
    return Path(path).is_relative_to(folder)
