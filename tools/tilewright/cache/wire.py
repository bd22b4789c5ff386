"""The wire format of protocol buffers: writing fields, and reading those of a message that anybody may have sent."""

from __future__ import annotations

from collections.abc import Iterator

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def bytes_field(number: int, data: bytes) -> bytes:
    """A field of bytes, text or a message; it is written even when it is empty."""
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def text_field(number: int, text: str) -> bytes:
    """A field of text; an empty one is left out, as the canonical form wants."""
    return bytes_field(number, text.encode()) if text else b""


def number_field(number: int, value: int) -> bytes:
    """A field of a number that is not negative, or of a truth; zero is left out, as the canonical form wants."""
    return _varint(number << 3 | _VARINT) + _varint(value) if value else b""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a message; ValueError for bytes that are none."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("a field of an unknown kind")
        if at + size > len(data):
            raise ValueError("a field that reaches past the end")
        yield tag >> 3, data[at : at + size]
        at += size


def as_bytes(value: int | bytes) -> bytes:
    """The value of a field of bytes; ValueError for a number."""
    if isinstance(value, int):
        raise ValueError("a number where bytes belong")
    return value


def as_number(value: int | bytes) -> int:
    """The value of a field of a number; ValueError for bytes."""
    if not isinstance(value, int):
        raise ValueError("bytes where a number belongs")
    return value


def as_numbers(value: int | bytes) -> list[int]:
    """The values that one field gives to a list of numbers: one, or several packed into bytes."""
    if isinstance(value, int):
        return [value]
    found = []
    at = 0
    while at < len(value):
        number, at = _read_varint(value, at)
        found.append(number)
    return found


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("a number that is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number that is too long")
