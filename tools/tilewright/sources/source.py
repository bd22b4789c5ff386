"""What a front end hands over, and the room's one exception."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tilewright.exports.model import ExportSet
from tilewright.problem import ProblemError


class SourceError(ProblemError):
    """A user's source that cannot become a tile library: all problems of the file at once."""


@dataclass(frozen=True, slots=True)
class Source:
    """One source file, read.

    `device_text` is the text of `<library><device_suffix>`, from which the device code is compiled.  `dependencies`
    are the user's files that were read: the source itself, then the headers it includes.  `warnings` is what a compiler
    that was run to read it said, "" when it said nothing.
    """

    exports: ExportSet
    device_text: str
    device_suffix: str
    dependencies: tuple[Path, ...]
    warnings: str = ""
