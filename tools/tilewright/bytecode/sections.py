"""The container of a module: header, sections, and the layout of the string and type tables."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise

from tilewright.bytecode.cursor import Cursor
from tilewright.bytecode.sink import Sink

MAGIC = b"\x7fTileIR\x00"
PREVIEW = 1

_ALIGNED = 0x80
_TABLE_ALIGNMENT = 4
_MAX_ALIGNMENT = 4096


class Section(Enum):
    """One row a section: its number and the alignment it is written with (1: none)."""

    STRING = (1, 4)
    FUNCTION = (2, 8)
    DEBUG = (3, 8)
    CONSTANT = (4, 8)
    TYPE = (5, 4)
    GLOBAL = (6, 1)
    PRODUCER = (7, 1)

    def __init__(self, number: int, alignment: int) -> None:
        self.number = number
        self.alignment = alignment


_BY_NUMBER = {section.number: section for section in Section}


def write_section(out: Sink, section: Section, payload: bytes | bytearray) -> None:
    """Number, length, alignment, padding to that alignment in the file, payload."""
    aligned = section.alignment > 1
    out.byte(section.number | (_ALIGNED if aligned else 0))
    out.uvar(len(payload))
    if aligned:
        out.uvar(section.alignment)
        out.align(section.alignment)
    out.data += payload


def read_sections(cursor: Cursor) -> dict[Section, Cursor]:
    """The payloads up to the end mark, each section at most once; nothing may follow the mark."""
    found: dict[Section, Cursor] = {}
    while True:
        start = cursor.position
        number = cursor.byte("a section number")
        if number == 0:
            cursor.finish("the module")
            return found
        section = _BY_NUMBER.get(number & ~_ALIGNED)
        if section is None:
            raise cursor.fault(f"unknown section {number & ~_ALIGNED}", start)
        name = f"the {section.name.lower()} section"
        if section in found:
            raise cursor.fault(f"{name} occurs twice", start)
        length = cursor.uvar(f"the length of {name}")
        if number & _ALIGNED:
            start = cursor.position
            alignment = cursor.uvar(f"the alignment of {name}")
            if not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
                raise cursor.fault(
                    f"{name} has the alignment {alignment}, not a power of two up to {_MAX_ALIGNMENT}", start
                )
            cursor.align(alignment, name)
        found[section] = cursor.slice(length, name)


def table_payload(items: Sequence[bytes]) -> bytearray:
    """Count, padding, the start of each item relative to the first, then the items back to back."""
    out = Sink()
    out.uvar(len(items))
    out.align(_TABLE_ALIGNMENT)
    starts = []
    position = 0
    for item in items:
        starts.append(position)
        position += len(item)
    out.data += struct.pack(f"<{len(starts)}I", *starts)
    out.data += b"".join(items)
    return out.data


def table_items(cursor: Cursor, base: int, name: str) -> Iterator[Cursor]:
    """One cursor an item, in order, of a table whose section starts at byte `base`; the starts must not decrease."""
    count = cursor.count(f"items of {name}", 4)
    cursor.take(-(cursor.position - base) % _TABLE_ALIGNMENT, f"the padding of {name}")
    at = cursor.position
    starts = struct.unpack(f"<{count}I", cursor.take(4 * count, f"the offsets of {name}"))
    data, size = cursor.position, cursor.remaining
    cursor.position = cursor.end
    lowest = 0
    for number, start in enumerate(starts):
        highest = size if number else 0
        if not lowest <= start <= highest:
            what = f"item {number} of {name} starts at {start}, not from {lowest} to {highest}"
            raise cursor.fault(what, at + 4 * number)
        lowest = start
    for start, end in pairwise((*starts, size)):
        yield Cursor(cursor.file, data + start, data + end)
