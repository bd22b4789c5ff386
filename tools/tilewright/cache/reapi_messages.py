"""The messages of the Remote Execution API that a cache needs, and those of ByteStream, to and from bytes.

Field numbers are those of `build.bazel.remote.execution.v2` and `google.bytestream`.  A digest function is never named:
servers tell SHA-256 by the length of the digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.cache.wire import (
    as_bytes,
    as_number,
    as_numbers,
    bytes_field,
    fields,
    number_field,
    text_field,
)

OK, NOT_FOUND = 0, 5
"""Codes of `google.rpc.Status`."""

CHUNK = 1 << 20
"""Bytes of an output in one message of a stream."""

_SHA256 = 1
_COMMAND = bytes_field(1, b"tilewright") + bytes_field(1, b"cache")


@dataclass(frozen=True, slots=True, order=True)
class Digest:
    """What a blob is named by: the SHA-256 of its bytes, and how many there are."""

    sha256: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """The digest of bytes."""
        return cls(hashlib.sha256(data).hexdigest(), len(data))

    def encoded(self) -> bytes:
        """The message."""
        return text_field(1, self.sha256) + number_field(2, self.size)

    @classmethod
    def decoded(cls, data: bytes) -> Digest:
        """The digest in a message."""
        parts = dict(fields(data))
        return cls(as_bytes(parts.get(1, b"")).decode(), as_number(parts.get(2, 0)))


EMPTY = Digest.of(b"")
"""The digest of no bytes: every server has them."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a server can do: whether it names blobs by SHA-256, takes entries from clients, and the bytes of a batch.

    A batch of 0 bytes means that the server sets no limit.
    """

    sha256: bool
    updates: bool
    batch: int


@dataclass(frozen=True, slots=True)
class Action:
    """A step as a server knows it; `blobs` are what it consists of."""

    digest: Digest
    blobs: Mapping[Digest, bytes]


def action_of(key: str) -> Action:
    """The action of a key.

    The API files an entry under the digest of an `Action`, and a server may ask that this message, and what it refers
    to, are there. So it is a whole one that differs by its salt (9): a `Command` (1) that says whose it is, the empty
    folder as input root (2), and the bytes of the key.
    """
    command = Digest.of(_COMMAND)
    action = bytes_field(1, command.encoded()) + bytes_field(2, EMPTY.encoded()) + bytes_field(9, bytes.fromhex(key))
    digest = Digest.of(action)
    return Action(digest, {command: _COMMAND, digest: action})


def capabilities_request(instance: str) -> bytes:
    """`GetCapabilitiesRequest`."""
    return text_field(1, instance)


def capabilities(data: bytes) -> Capabilities:
    """From `ServerCapabilities`."""
    cache = as_bytes(dict(fields(data)).get(1, b""))
    functions = [number for tag, value in fields(cache) if tag == 1 for number in as_numbers(value)]
    parts = dict(fields(cache))
    updates = as_number(dict(fields(as_bytes(parts.get(2, b"")))).get(1, 0))
    return Capabilities(_SHA256 in functions, bool(updates), as_number(parts.get(4, 0)))


def entry_request(instance: str, action: Digest) -> bytes:
    """`GetActionResultRequest`."""
    return text_field(1, instance) + bytes_field(2, action.encoded())


def entry_update(instance: str, action: Digest, entry: bytes) -> bytes:
    """`UpdateActionResultRequest`."""
    return entry_request(instance, action) + bytes_field(3, entry)


def missing_request(instance: str, digests: Iterable[Digest]) -> bytes:
    """`FindMissingBlobsRequest`."""
    return text_field(1, instance) + b"".join(bytes_field(2, digest.encoded()) for digest in digests)


def missing(data: bytes) -> set[Digest]:
    """From `FindMissingBlobsResponse`."""
    return {Digest.decoded(as_bytes(value)) for number, value in fields(data) if number == 2}


def batch_update(instance: str, blobs: Mapping[Digest, bytes]) -> bytes:
    """`BatchUpdateBlobsRequest`."""
    parts = (bytes_field(1, digest.encoded()) + bytes_field(2, data) for digest, data in blobs.items())
    return text_field(1, instance) + b"".join(bytes_field(2, part) for part in parts)


def updated(data: bytes) -> dict[Digest, int]:
    """From `BatchUpdateBlobsResponse`: the code of each blob."""
    found = {}
    for number, value in fields(data):
        if number == 1:
            parts = dict(fields(as_bytes(value)))
            found[Digest.decoded(as_bytes(parts.get(1, b"")))] = _code(parts.get(2, b""))
    return found


def batch_read(instance: str, digests: Iterable[Digest]) -> bytes:
    """`BatchReadBlobsRequest`; no compression is accepted."""
    return missing_request(instance, digests)


def read(data: bytes) -> dict[Digest, tuple[int, bytes]]:
    """From `BatchReadBlobsResponse`: code and bytes of each blob, as they were sent."""
    found = {}
    for number, value in fields(data):
        if number == 1:
            parts = dict(fields(as_bytes(value)))
            code = _code(parts.get(3, b""))
            found[Digest.decoded(as_bytes(parts.get(1, b"")))] = code, as_bytes(parts.get(2, b""))
    return found


def stream_request(instance: str, digest: Digest) -> bytes:
    """`ReadRequest`."""
    return text_field(1, "/".join([*_folders(instance), "blobs", digest.sha256, str(digest.size)]))


def streamed(data: bytes) -> bytes:
    """From `ReadResponse`: some of the bytes."""
    return as_bytes(dict(fields(data)).get(10, b""))


def stream_update(instance: str, unique: str, digest: Digest, data: bytes) -> Iterator[bytes]:
    """The `WriteRequest`s of a blob; `unique` is a UUID for this upload."""
    name = "/".join([*_folders(instance), "uploads", unique, "blobs", digest.sha256, str(digest.size)])
    for offset in range(0, len(data), CHUNK):
        part = data[offset : offset + CHUNK]
        head = text_field(1, name) if offset == 0 else b""
        last = offset + CHUNK >= len(data)
        yield head + number_field(2, offset) + number_field(3, last) + bytes_field(10, part)


def committed(data: bytes) -> int:
    """From `WriteResponse`: how many bytes the server has."""
    return as_number(dict(fields(data)).get(1, 0))


def _folders(instance: str) -> list[str]:
    return [instance] if instance else []


def _code(status: int | bytes) -> int:
    return as_number(dict(fields(as_bytes(status))).get(1, OK))
