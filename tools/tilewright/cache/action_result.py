"""What the cache says of one action: its outputs by name and digest, in the form of a remote-execution `ActionResult`.

A server of such a cache may read what is put under `/ac/`, so the entry is the protocol buffer that it expects:
output_files = 2 (path = 1, digest = 2 (hash = 1, size_bytes = 2), is_executable = 4), stdout_raw = 5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.cache.wire import as_bytes, as_number, bytes_field, fields, number_field

SIZE_LIMIT = 1 << 16
"""Bytes of the longest entry that is read."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
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
        digest = bytes_field(1, output.sha256.encode()) + number_field(2, output.size)
        file = bytes_field(1, output.name.encode()) + bytes_field(2, digest) + number_field(4, output.executable)
        parts.append(bytes_field(2, file))
    return b"".join(parts) + bytes_field(5, _SECONDS + f"{entry.seconds:.3f}".encode())


def decode(data: bytes) -> Entry:
    """The entry in the bytes; ValueError for any others."""
    outputs = []
    seconds = 0.0
    for number, value in fields(data):
        if number == 2:
            outputs.append(_output(as_bytes(value)))
        elif number == 5 and as_bytes(value).startswith(_SECONDS):
            seconds = min(max(float(as_bytes(value)[len(_SECONDS) :]), 0.0), 1e6)
    if not outputs or len({output.name for output in outputs}) != len(outputs):
        raise ValueError("an entry without outputs, or with two of one name")
    return Entry(tuple(outputs), seconds)


def _output(data: bytes) -> Output:
    file = dict(fields(data))
    digest = dict(fields(as_bytes(file.get(2, b""))))
    name, sha256 = as_bytes(file.get(1, b"")).decode(), as_bytes(digest.get(1, b"")).decode()
    if not name or "/" in name or "\0" in name or name in (".", "..") or not _DIGEST.fullmatch(sha256):
        raise ValueError("an output without a name or a digest")
    return Output(name, sha256, as_number(digest.get(2, 0)), bool(file.get(4, 0)))
