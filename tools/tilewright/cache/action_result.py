"""What the cache says of one action: its outputs by name and digest, in the form of a remote-execution `ActionResult`.

A server of such a cache may read what is put under `/ac/`, so the entry is the protocol buffer that it expects:
output_files = 2 (path = 1, digest = 2 (hash = 1, size_bytes = 2), is_executable = 4), stdout_raw = 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

SIZE_LIMIT = 1 << 16
"""Bytes of the longest entry that is read."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_SECONDS = b"seconds="


@dataclass(frozen=True, slots=True)
class Output:
    """One output: the name of its file without a folder, the SHA-256 and size of its bytes."""

    name: str
    sha256: str
    size: int
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """All outputs of an action in their order, and how long it took to make them."""

    outputs: tuple[Output, ...]
    seconds: float = 0.0


def encode(entry: Entry) -> bytes:
    """The bytes of an entry."""
    parts = []
    for output in entry.outputs:
        digest = _field(1, output.sha256.encode()) + _number(2, output.size)
        file = _field(1, output.name.encode()) + _field(2, digest)
        parts.append(_field(2, file + (_number(4, 1) if output.executable else b"")))
    return b"".join(parts) + _field(5, _SECONDS + f"{entry.seconds:.3f}".encode())


def decode(data: bytes) -> Entry:
    """The entry in the bytes; ValueError for any others."""
    outputs = []
    seconds = 0.0
    for number, value in _fields(data):
        if number == 2:
            outputs.append(_output(_as_bytes(value)))
        elif number == 5 and _as_bytes(value).startswith(_SECONDS):
            seconds = min(max(float(_as_bytes(value)[len(_SECONDS) :]), 0.0), 1e6)
    if not outputs or len({output.name for output in outputs}) != len(outputs):
        raise ValueError("an entry without outputs, or with two of one name")
    return Entry(tuple(outputs), seconds)


def _output(data: bytes) -> Output:
    file = dict(_fields(data))
    digest = dict(_fields(_as_bytes(file.get(2, b""))))
    name, sha256 = _as_bytes(file.get(1, b"")).decode(), _as_bytes(digest.get(1, b"")).decode()
    size = digest.get(2, 0)
    if not name or "/" in name or "\0" in name or name in (".", "..") or not _DIGEST.fullmatch(sha256):
        raise ValueError("an output without a name or a digest")
    if not isinstance(size, int):
        raise ValueError("a size that is no number")
    return Output(name, sha256, size, bool(file.get(4, 0)))


def _as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number where bytes belong")
    return value


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
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
