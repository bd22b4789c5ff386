"""The writing side of the primitives: integers, alignment, and the tables that give every string and type one index.

All integers are little-endian.  `uvar` is unsigned LEB128, `svar` the zigzag of a signed number as a `uvar`
(0, -1, 1, -2 become 0, 1, 2, 3), `i64` eight bytes.
"""

from __future__ import annotations

import struct
from typing import Protocol

PADDING = 0xCB
I64_MIN = -(1 << 63)
U64_MAX = (1 << 64) - 1

_I64 = struct.Struct("<q")


class Encodable(Protocol):
    """A type, attribute or expression. Its class method `read(cursor)` takes up what `body` wrote."""

    @property
    def tag(self) -> int:
        """The number that announces the body in a self-contained value."""

    def body(self, out: Sink) -> None:
        """Write the fields in the order of the format."""

    def text(self) -> str:
        """How Tile IR text spells the value."""


class Tables:
    """The string and type table of one module. Looking a value up interns it; a type's own references come first."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.types: dict[Encodable, int] = {}
        self.type_items: list[bytes] = []

    def string(self, text: str) -> int:
        """Index of `text` in the string table."""
        return self.strings.setdefault(text, len(self.strings))

    def type(self, value: Encodable) -> int:
        """Index of a type in the type table."""
        index = self.types.get(value)
        if index is None:
            item = Sink(self)
            tagged(item, value)
            index = self.types[value] = len(self.type_items)
            self.type_items.append(bytes(item.data))
        return index


class Sink:
    """Bytes being written, together with the tables of their module."""

    __slots__ = ("data", "tables")

    def __init__(self, tables: Tables | None = None) -> None:
        self.data = bytearray()
        self.tables = tables if tables is not None else Tables()

    def byte(self, value: int) -> None:
        """One byte."""
        self.data.append(value)

    def uvar(self, value: int) -> None:
        """Unsigned LEB128 of a number below 2**64. 300 is `AC 02`."""
        assert 0 <= value <= U64_MAX, value  # noqa: S101
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def svar(self, value: int) -> None:
        """Zigzag LEB128 of a 64-bit signed number. 128 is `80 02`."""
        assert I64_MIN <= value < 1 << 63, value  # noqa: S101
        self.uvar(value << 1 if value >= 0 else ~(value << 1))

    def i64(self, value: int) -> None:
        """Eight bytes, two's complement."""
        self.data += _I64.pack(value)

    def string(self, text: str) -> None:
        """The index of a string."""
        self.uvar(self.tables.string(text))

    def type(self, value: Encodable) -> None:
        """The index of a type."""
        self.uvar(self.tables.type(value))

    def align(self, alignment: int) -> None:
        """Padding up to a multiple of `alignment` bytes."""
        self.data += bytes((PADDING,)) * (-len(self.data) % alignment)


def tagged(out: Sink, value: Encodable) -> None:
    """The self-contained form of a type, attribute or expression: its tag, then its body."""
    out.uvar(value.tag)
    value.body(out)
