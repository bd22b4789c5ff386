"""The few parts of ELF64 that a `.tilelib` uses: file header, section table, section names.

Every offset and count of the file is checked before it is followed, so any bytes give sections or a LibraryError.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from tilewright.device import magic
from tilewright.library.errors import LibraryError
from tilewright.problem import Place, Problem

MACHINES = {62: "x86-64", 183: "aarch64"}

LIBRARY_WANTED = "name a .tilelib file, as `tilewright build` writes it"
"""What to do about a file that is no tile library."""

_HEADER = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_CLASS_64, _LITTLE_ENDIAN = 2, 1
_NO_CONTENT = 8  # SHT_NOBITS
_NAME_LIMIT = 64


class ObjectKind(Enum):
    """What kind of ELF file carries the sections: packed from files, or a provider that can be loaded."""

    RELOCATABLE = 1
    SHARED = 3


@dataclass(frozen=True, slots=True)
class ElfFile:
    """Machine name, kind, and (name, content) of each section in file order; names are cut at 64 bytes."""

    machine: str
    kind: ObjectKind
    sections: tuple[tuple[str, memoryview], ...]

    def named(self, name: str) -> list[memoryview]:
        """The contents of all sections of that name."""
        return [content for each, content in self.sections if each == name]


def read_elf(data: bytes, file: str) -> ElfFile:
    """Sections of a little-endian ELF64 relocatable or shared object for x86-64 or aarch64; LibraryError for others."""
    if len(data) < _HEADER.size or data[:4] != magic.ELF:
        raise _broken(file, "it does not start with an ELF header")
    header = _HEADER.unpack_from(data)
    _, width, order, _, kind, machine, _, _, _, table, _, _, _, _, entry_size, count, names_index = header
    if (width, order) != (_CLASS_64, _LITTLE_ENDIAN):
        raise _broken(file, "it is not a little-endian ELF64 file")
    if machine not in MACHINES:
        raise _broken(file, f"its ELF machine {machine} is neither x86-64 (62) nor aarch64 (183)")
    if kind not in {each.value for each in ObjectKind}:
        raise _broken(file, f"its ELF type {kind} is neither relocatable (1) nor a shared object (3)")
    if not table or not count:
        raise _broken(file, "it has no section table")
    if entry_size != _SECTION.size or table + count * entry_size > len(data):
        raise _broken(file, "its section table does not fit in the file")
    if names_index >= count:
        raise _broken(file, "its section name table does not exist")
    rows = list(_SECTION.iter_unpack(memoryview(data)[table : table + count * entry_size]))
    contents = [_content(data, row, file) for row in rows]
    names = bytes(contents[names_index])
    return ElfFile(
        machine=MACHINES[machine],
        kind=ObjectKind(kind),
        sections=tuple((_name(names, row[0]), content) for row, content in zip(rows, contents, strict=True)),
    )


def _content(data: bytes, row: tuple[int, ...], file: str) -> memoryview:
    kind, offset, size = row[1], row[4], row[5]
    if kind in (0, _NO_CONTENT):
        return memoryview(b"")
    if offset + size > len(data):
        raise _broken(file, "a section reaches past the end of the file")
    return memoryview(data)[offset : offset + size]


def _name(names: bytes, start: int) -> str:
    piece = names[start : start + _NAME_LIMIT]
    return piece.partition(b"\0")[0].decode("ascii", "replace")


def _broken(file: str, reason: str) -> LibraryError:
    what = f"this is not a tile library: {reason}"
    return LibraryError([Problem(what=what, where=Place(file), hint=LIBRARY_WANTED)])
