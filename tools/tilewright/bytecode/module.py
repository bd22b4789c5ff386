"""The value a bytecode file stands for: version, declarations, implementations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tilewright.bytecode.records import Declaration, Implementation

Version: TypeAlias = tuple[int, int]

FIRST_PREVIEW_VERSION: Version = (13, 5)


def dotted(version: Version) -> str:
    """`13.5`, as people and tools write it."""
    return ".".join(map(str, version))


@dataclass(frozen=True, slots=True)
class Module:
    """A module of a tile library: an interface has declarations, a catalog implementations, a check module both.

    The module's own name is not part of the encoding.  `producer` is the text that a writer may leave behind.
    """

    version: Version
    declarations: tuple[Declaration, ...] = ()
    implementations: tuple[Implementation, ...] = ()
    producer: str = ""
