"""A cache over gRPC: the action cache and the content-addressable storage of the Remote Execution API.

Small outputs travel together in a batch, larger ones in a stream of their own.  Every call has a deadline, and all of
them may be repeated without harm.  An entry is filed under the action that `action_of` makes of its key, so it is not
the one that the same server offers over HTTP.
"""

from __future__ import annotations

import importlib.util
import os
import re
import ssl
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar, cast

from tilewright.cache import reapi_messages as messages
from tilewright.cache import remote
from tilewright.cache.action_result import SIZE_LIMIT, Entry, Output, decode, encode
from tilewright.cache.errors import CacheError
from tilewright.cache.reapi_messages import Capabilities, Digest, action_of
from tilewright.cache.remote import PassingFailure, RemoteFailure
from tilewright.problem import Problem

if TYPE_CHECKING:
    import grpc

BATCH = (4 << 20) - (64 << 10)
"""Bytes of one batch at most: its message then fits into the 4 MiB that servers take."""

_OVERHEAD = 256  # bytes that the digest and the status of a blob in a batch may take
_LONGEST_MESSAGE = 8 << 20
_LONGEST_REASON = 200

_API = "/build.bazel.remote.execution.v2."
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_UNTRUSTED = "CERTIFICATE_VERIFY_FAILED: "
_NO_API = "does not speak the Remote Execution API"

T = TypeVar("T")


class _Absent(RemoteFailure):
    """The server does not have what it was asked for: a miss, where that can be."""


class ReapiStore:
    """A server by its address `grpc://host:port/instance`, or `grpcs://` for one with TLS; a `RemoteStore`.

    CacheError for an address that is none, and where grpcio is not installed. The connection is made at the first use.
    """

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        address = remote.address_of(url)
        if address.port is None or not _HOST.fullmatch(address.host):
            raise remote.no_address(url)
        if importlib.util.find_spec("grpc") is None:
            what = f"`cache={address.scheme}://...` needs the Python package grpcio"
            raise CacheError([Problem(what, hint="pip install 'scons-tilelib[remote]'")])
        self.url = url.rstrip("/")
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._target = f"dns:///{host}:{address.port}"
        self._secure = address.scheme == "grpcs"
        self._instance = address.path
        self._metadata = [(name.lower(), value) for name, value in remote.authorization(environ).items()]
        self._retries = remote.Retries()
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._known: Capabilities | RemoteFailure | None = None

    def entry(self, key: str) -> Entry | None:
        self._capabilities()
        request = messages.entry_request(self._instance, action_of(key).digest)
        try:
            data = self._call("ActionCache/GetActionResult", request)
        except _Absent:
            return None
        if len(data) > SIZE_LIMIT:
            raise RemoteFailure(remote.TOO_MUCH)
        try:
            return decode(data)
        except ValueError:
            raise RemoteFailure(remote.NO_ENTRY) from None

    def blobs(self, outputs: Sequence[Output]) -> list[bytes] | None:
        wanted = {Digest(output.sha256, output.size) for output in outputs}
        found = {messages.EMPTY: b""}
        batches, large = self._parted(wanted - found.keys())
        try:
            for batch in batches:
                found |= self._read_batch(batch)
            for digest in large:
                found[digest] = self._read_stream(digest)
        except _Absent:
            return None
        if any(Digest.of(data) != digest for digest, data in found.items()):
            raise RemoteFailure(remote.OTHER_BYTES)
        return [found[Digest(output.sha256, output.size)] for output in outputs]

    def store(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        if not self._capabilities().updates:
            raise RemoteFailure("takes no entries from us, so `cache_write=1` is of no use with it")
        action = action_of(key)
        all_of_it = {Digest(sha256, len(data)): data for sha256, data in blobs.items()} | dict(action.blobs)
        request = messages.missing_request(self._instance, all_of_it)
        answer = self._call("ContentAddressableStorage/FindMissingBlobs", request)
        with _valid_messages():
            missing = messages.missing(answer) & all_of_it.keys() - {messages.EMPTY}
        batches, large = self._parted(missing)
        for batch in batches:
            self._write_batch({digest: all_of_it[digest] for digest in batch})
        for digest in large:
            self._write_stream(digest, all_of_it[digest])
        self._call(
            "ActionCache/UpdateActionResult", messages.entry_update(self._instance, action.digest, encode(entry))
        )

    def _capabilities(self) -> Capabilities:
        """What the server can do; it is asked once, and what came of that holds for all threads."""
        with self._lock:
            if self._known is None:
                try:
                    self._known = self._ask_capabilities()
                except RemoteFailure as failure:
                    self._known = failure
            if isinstance(self._known, RemoteFailure):
                raise self._known
            return self._known

    def _ask_capabilities(self) -> Capabilities:
        answer = self._call("Capabilities/GetCapabilities", messages.capabilities_request(self._instance))
        with _valid_messages():
            found = messages.capabilities(answer)
        if not found.sha256:
            raise RemoteFailure("does not name its blobs by SHA-256, which its capabilities must have")
        return found

    def _parted(self, digests: Iterable[Digest]) -> tuple[list[list[Digest]], list[Digest]]:
        """The blobs that go into each batch, and those that are too large for one."""
        limit = min(self._capabilities().batch or BATCH, BATCH)
        batches: list[list[Digest]] = []
        large = []
        room = 0
        for digest in sorted(digests):
            size = digest.size + _OVERHEAD
            if size > limit:
                large.append(digest)
                continue
            if size > room:
                batches.append([])
                room = limit
            batches[-1].append(digest)
            room -= size
        return batches, large

    def _read_batch(self, digests: Sequence[Digest]) -> dict[Digest, bytes]:
        request = messages.batch_read(self._instance, digests)
        answer = self._call("ContentAddressableStorage/BatchReadBlobs", request, sum(each.size for each in digests))
        with _valid_messages():
            read = messages.read(answer)
        for digest in digests:
            _check_status(read.get(digest, (messages.NOT_FOUND, b""))[0])
        return {digest: read[digest][1] for digest in digests}

    def _write_batch(self, blobs: Mapping[Digest, bytes]) -> None:
        request = messages.batch_update(self._instance, blobs)
        answer = self._call("ContentAddressableStorage/BatchUpdateBlobs", request, sum(map(len, blobs.values())))
        with _valid_messages():
            updated = messages.updated(answer)
        if not blobs.keys() <= updated.keys():
            raise RemoteFailure("does not keep what it is given")
        for digest in blobs:
            _check_status(updated[digest])

    def _read_stream(self, digest: Digest) -> bytes:
        request = messages.stream_request(self._instance, digest)

        def attempt() -> bytes:
            call = self._connected().unary_stream("/google.bytestream.ByteStream/Read")
            answers = call(request, timeout=remote.time_for(digest.size), metadata=self._metadata)
            parts = []
            size = 0
            for answer in answers:
                with _valid_messages():
                    part = messages.streamed(answer)
                size += len(part)
                if size > digest.size:
                    answers.cancel()
                    raise RemoteFailure(remote.TOO_MUCH)
                parts.append(part)
            if size < digest.size:
                raise PassingFailure(remote.BROKEN_OFF)
            return b"".join(parts)

        return self._tried(attempt)

    def _write_stream(self, digest: Digest, data: bytes) -> None:
        def attempt() -> bytes:
            call = self._connected().stream_unary("/google.bytestream.ByteStream/Write")
            requests = messages.stream_update(self._instance, str(uuid.uuid4()), digest, data)
            return bytes(call(requests, timeout=remote.time_for(digest.size), metadata=self._metadata))

        answer = self._tried(attempt)
        with _valid_messages():
            committed = messages.committed(answer)
        if committed != digest.size:
            raise RemoteFailure("does not keep what it is given")

    def _call(self, method: str, request: bytes, size: int = 0) -> bytes:
        """What the server answers; outputs of `size` bytes travel with it."""

        def attempt() -> bytes:
            call = self._connected().unary_unary(_API + method)
            return bytes(call(request, timeout=remote.time_for(size), metadata=self._metadata))

        return self._tried(attempt)

    def _tried(self, attempt: Callable[[], T]) -> T:
        """What the attempt gives; _Absent when the server says NOT_FOUND, RemoteFailure for what else it fails with."""
        return self._retries.run(partial(_translated, attempt))

    def _connected(self) -> grpc.Channel:
        if self._channel is None:
            self._channel = _open(self._target, secure=self._secure)
        return self._channel


def _loaded() -> ModuleType:
    """The package; RemoteFailure when it is there, but does not load."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would write lines of its own between ours
    try:
        import grpc
    except ImportError as failure:
        raise RemoteFailure(f"cannot be used, because grpcio does not load ({_printable(str(failure))})") from None
    return cast(ModuleType, grpc)


def _open(target: str, *, secure: bool) -> grpc.Channel:
    grpc = _loaded()
    options = [
        ("grpc.max_receive_message_length", _LONGEST_MESSAGE),
        ("grpc.enable_http_proxy", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
    ]
    if secure:
        return grpc.secure_channel(target, grpc.ssl_channel_credentials(_authorities()), options)
    return grpc.insecure_channel(target, options)


def _authorities() -> bytes | None:
    """The certificates of whom this system trusts, as for https; None for those that gRPC knows or was told about."""
    if os.environ.get("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"):
        return None
    paths = ssl.get_default_verify_paths()
    files = [paths.cafile, f"{paths.capath}/ca-certificates.crt"]
    return next((Path(file).read_bytes() for file in files if file and Path(file).is_file()), None)


def _translated(attempt: Callable[[], T]) -> T:
    grpc = _loaded()
    try:
        return attempt()
    except grpc.RpcError as error:
        raise _failure(error.code().name, error.details() or "") from None


def _failure(status: str, reason: str) -> RemoteFailure:
    words = f"answers with status {status}" + (f" ({_printable(reason)})" if reason else "")
    if status == "NOT_FOUND":
        return _Absent(words)
    if status in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return RemoteFailure(remote.refusal(status))
    if status == "DEADLINE_EXCEEDED":
        return PassingFailure(remote.TOO_SLOW, late=True)
    if status == "UNIMPLEMENTED":
        return RemoteFailure(f"{_NO_API} (status {status})")
    if status == "RESOURCE_EXHAUSTED" and "larger than max" in reason:
        return RemoteFailure(remote.TOO_MUCH)
    if status == "UNAVAILABLE" and _UNTRUSTED in reason:
        why = reason.partition(_UNTRUSTED)[2].partition(":")[0]
        return RemoteFailure(f"has a certificate that is not trusted ({_printable(why)})")
    if status == "UNAVAILABLE":
        return PassingFailure(f"cannot be reached ({_printable(reason.rpartition('last error: ')[2])})")
    return PassingFailure(words) if status == "RESOURCE_EXHAUSTED" else RemoteFailure(words)


def _printable(text: str) -> str:
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= _LONGEST_REASON else line[:_LONGEST_REASON] + "..."


def _check_status(code: int) -> None:
    """_Absent or RemoteFailure when the code of an output in a batch tells of a failure."""
    if code != messages.OK:
        names = {status.value[0]: status.name for status in _loaded().StatusCode}
        raise _failure(names.get(code, str(code)), "")


@contextmanager
def _valid_messages() -> Iterator[None]:
    """What is no message inside of this block is a RemoteFailure."""
    try:
        yield
    except ValueError:
        raise RemoteFailure(f"{_NO_API} (a broken message)") from None
