"""The reading side of the primitives: a bounded position in the bytes of one file.

Whatever the bytes are, reading ends in values or in a `BytecodeError` with the offset of the faulty field: every
element takes at least one byte of the file, nesting has a limit, and so has what references expand to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from tilewright.bytecode.sink import U64_MAX, Encodable
from tilewright.exports.spelling import printable
from tilewright.problem import Place, Problem, ProblemError

MAX_DEPTH = 64
MAX_EXPANSION = 256
FREE_EXPANSION = 1 << 20
MAX_MESSAGE = 400


class BytecodeError(ProblemError):
    """A file that is not a Tile IR module of a tile library; the place is a byte offset."""


class Readable(Protocol):
    """A class whose values can be read: tag and a `read` that takes up the body."""

    @classmethod
    def read(cls, cursor: Cursor) -> Any: ...


class File:
    """What all cursors of one file share: the bytes, the tables read so far, and the allowance for references.

    A one-byte index can name a long string or a large type, and types can name each other, so a short file can
    stand for values of any size.  Each reference therefore costs what it names, and the sum may reach
    `MAX_EXPANSION` times the file's size plus `FREE_EXPANSION` bytes (a real library stays below 30 times).
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.strings: list[str] = []
        self.types: list[Encodable] = []
        self.type_costs: list[int] = []
        self.spent = 0
        self.allowance = MAX_EXPANSION * len(data) + FREE_EXPANSION

    def fault(self, what: str, offset: int) -> BytecodeError:
        """The error to raise for the field at `offset` bytes into the file. Names from the file are cut and escaped."""
        return BytecodeError([Problem(printable(what, MAX_MESSAGE), Place(self.name, path=f"byte {offset}"))])


class Cursor:
    """A position in `file`, ending before byte `end`. Every read names its field, for the message."""

    __slots__ = ("depth", "end", "file", "position")

    def __init__(self, file: File, position: int, end: int) -> None:
        self.file = file
        self.position = position
        self.end = end
        self.depth = 0

    @property
    def remaining(self) -> int:
        """Bytes left before the end."""
        return self.end - self.position

    def fault(self, what: str, at: int | None = None) -> BytecodeError:
        """The error to raise for the field that starts at byte `at` (default: the present position)."""
        return self.file.fault(what, self.position if at is None else at)

    def take(self, size: int, field: str) -> bytes:
        """The next `size` bytes."""
        if size > self.remaining:
            raise self.fault(f"the file ends inside {field}: {size} bytes are needed, {self.remaining} are left")
        start = self.position
        self.position += size
        return self.file.data[start : self.position]

    def slice(self, size: int, field: str) -> Cursor:
        """A cursor over the next `size` bytes, which this cursor skips."""
        if size > self.remaining:
            raise self.fault(f"{field} of {size} bytes runs past the end, {self.remaining} are left")
        start = self.position
        self.position += size
        return Cursor(self.file, start, self.position)

    def byte(self, field: str) -> int:
        """One byte."""
        if self.position >= self.end:
            raise self.fault(f"the file ends before {field}")
        value = self.file.data[self.position]
        self.position += 1
        return value

    def uvar(self, field: str) -> int:
        """Unsigned LEB128 below 2**64."""
        start = self.position
        value = shift = 0
        while True:
            byte = self.byte(field)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise self.fault(f"{field} does not end within ten bytes", start)
        if value > U64_MAX:
            raise self.fault(f"{field} does not fit 64 bits", start)
        return value

    def svar(self, field: str) -> int:
        """Zigzag LEB128, 64 bits signed."""
        value = self.uvar(field)
        return value >> 1 ^ -(value & 1)

    def signed_uvar(self, field: str) -> int:
        """The `uvar` of a signed number's 64 bits. -1 takes ten bytes."""
        value = self.uvar(field)
        return value - (1 << 64) if value >> 63 else value

    def i64(self, field: str) -> int:
        """Eight bytes, two's complement."""
        return int.from_bytes(self.take(8, field), "little", signed=True)

    def count(self, field: str, size: int = 1) -> int:
        """A number of elements of at least `size` bytes each; more than the file can hold is refused at once."""
        start = self.position
        count = self.uvar(f"the number of {field}")
        if count * size > self.remaining:
            raise self.fault(f"{count} {field} do not fit into the {self.remaining} bytes left", start)
        return count

    def string(self, field: str) -> str:
        """A string by its index."""
        start = self.position
        index = self.uvar(field)
        strings = self.file.strings
        if index >= len(strings):
            raise self.fault(f"{field} is string {index}, the file has {len(strings)}", start)
        self.charge(len(strings[index]), start)
        return strings[index]

    def type(self, field: str) -> Encodable:
        """A type by its index; inside the type table only earlier types can be named."""
        start = self.position
        index = self.uvar(field)
        types = self.file.types
        if index >= len(types):
            raise self.fault(f"{field} is type {index}, only {len(types)} are known at this point", start)
        self.charge(self.file.type_costs[index], start)
        return types[index]

    def charge(self, cost: int, start: int) -> None:
        """Count what a reference expands to; a file that expands without bounds is refused."""
        self.file.spent += cost
        if self.file.spent > self.file.allowance:
            raise self.fault(f"the file expands to more than {self.file.allowance} bytes", start)

    def align(self, alignment: int, field: str) -> None:
        """Padding up to a multiple of `alignment` in the file."""
        self.take(-self.position % alignment, f"the padding of {field}")

    def finish(self, field: str) -> None:
        """Nothing may be left."""
        if self.remaining:
            raise self.fault(f"{field} has {self.remaining} bytes too many")

    @contextmanager
    def nested(self, field: str) -> Iterator[None]:
        """One level of nesting; more than `MAX_DEPTH` are refused."""
        if self.depth >= MAX_DEPTH:
            raise self.fault(f"{field} is nested more than {MAX_DEPTH} levels deep")
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


def read_tagged(cursor: Cursor, table: Mapping[int, type[Readable]], field: str) -> Any:
    """A self-contained value: a tag that `table` knows, then its body."""
    start = cursor.position
    tag = cursor.uvar(f"the tag of {field}")
    kind = table.get(tag)
    if kind is None:
        raise cursor.fault(f"unknown tag {tag} for {field}", start)
    with cursor.nested(field):
        return kind.read(cursor)
