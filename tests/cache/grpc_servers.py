"""Servers of the Remote Execution API: a real one, and one in this process that can be told to misbehave."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from tilewright.cache.wire import as_bytes, as_number, bytes_field, fields, number_field

SHA256, SHA1 = 1, 2
STEP = 10_000


@contextmanager
def casd(program: Path, folder: Path, *words: str) -> Iterator[str]:
    """The address of a `buildbox-casd` on loopback, with an empty store."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--bind", f"127.0.0.1:{port}", *words, folder]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            for _ in range(400):
                assert running.poll() is None
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.025)
            yield f"grpc://127.0.0.1:{port}"
        finally:
            running.kill()


class Liar(grpc.GenericRpcHandler):
    """A server that keeps blobs by digest and entries by action.

    `fault` is how it answers, to `lasts` calls, or to all when that is negative; `limit` is what it says of batches;
    `calls` are the methods that were called, `instances` those that were named; `expected` is the authorization that it
    wants.
    """

    def __init__(self) -> None:
        self.blobs: dict[bytes, bytes] = {}
        self.entries: dict[bytes, bytes] = {}
        self.fault = ""
        self.lasts = -1
        self.limit = 0
        self.expected = ""
        self.calls: list[str] = []
        self.instances: set[str] = set()
        self.port = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its address, with an instance."""
        return f"grpc://127.0.0.1:{self.port}/team/main"

    def service(self, handler_call_details: Any) -> Any:
        method = handler_call_details.method.rpartition("/")[2]
        metadata = dict(handler_call_details.invocation_metadata)
        with self._lock:
            self.calls.append(method)
            fault = self.fault if self.lasts else ""
            self.lasts -= bool(self.lasts > 0)
        allowed = not self.expected or metadata.get("authorization") == self.expected

        def checked(answer: Callable[[Any, str], Any]) -> Callable[[Any, Any], Any]:
            def run(request: Any, context: Any) -> Any:
                if not allowed:
                    context.abort(grpc.StatusCode.UNAUTHENTICATED, "who are you?")
                self._misbehave(fault, context)
                return b"\xff\xff" if fault == "nonsense" else answer(request, fault)

            return run

        def missing(request: Any, context: Any) -> Any:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is none")

        match method:
            case "GetActionResult":
                return grpc.unary_unary_rpc_method_handler(
                    lambda request, context: checked(self._entry)(request, context) or missing(request, context)
                )
            case "Read":
                return grpc.unary_stream_rpc_method_handler(
                    lambda request, context: iter(checked(self._stream)(request, context))
                )
            case "Write":
                return grpc.stream_unary_rpc_method_handler(checked(self._write))
            case "GetCapabilities":
                return grpc.unary_unary_rpc_method_handler(checked(self._capabilities))
            case "FindMissingBlobs":
                return grpc.unary_unary_rpc_method_handler(checked(self._find_missing))
            case "BatchReadBlobs":
                return grpc.unary_unary_rpc_method_handler(checked(self._batch_read))
            case "BatchUpdateBlobs":
                return grpc.unary_unary_rpc_method_handler(checked(self._batch_update))
            case "UpdateActionResult":
                return grpc.unary_unary_rpc_method_handler(checked(self._update))
        return None

    def _misbehave(self, fault: str, context: Any) -> None:
        match fault:
            case "busy":
                context.abort(grpc.StatusCode.UNAVAILABLE, "come back later")
            case "denied":
                context.abort(grpc.StatusCode.PERMISSION_DENIED, "no")
            case "absent":
                context.abort(grpc.StatusCode.NOT_FOUND, "no such instance")
            case "internal":
                context.abort(grpc.StatusCode.INTERNAL, "line\x1b[31m one\nline two " + "long " * 200)
            case "slow":
                time.sleep(2)

    def _capabilities(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        functions = bytes_field(1, bytes([SHA1] if fault == "sha1" else [SHA1, SHA256]))
        updates = bytes_field(2, number_field(1, fault != "read-only"))
        return bytes_field(1, functions + updates + number_field(4, self.limit))

    def _entry(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        entry = self.entries.get(part(request, 2), b"")
        match fault:
            case "no-entry":
                return b"\x0a\x05hello"
            case "long-entry":
                return entry + bytes_field(15, bytes(1 << 16))
        return entry

    def _update(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        self.entries[part(request, 2)] = part(request, 3)
        return part(request, 3)

    def _find_missing(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        wanted = [as_bytes(value) for number, value in fields(request) if number == 2]
        return b"".join(bytes_field(2, digest) for digest in wanted if digest not in self.blobs)

    def _batch_read(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        answers = []
        for number, value in fields(request):
            if number != 2:
                continue
            data = self._told(as_bytes(value), fault)
            known = bytes_field(3, number_field(1, 5)) if data is None else bytes_field(2, data)
            answers.append(bytes_field(1, bytes_field(1, as_bytes(value)) + known))
        return b"".join(answers)

    def _batch_update(self, request: bytes, fault: str) -> bytes:
        self._instance(request)
        assert self.limit == 0 or len(request) <= self.limit
        answers = []
        for number, value in fields(request):
            if number == 2:
                digest = part(as_bytes(value), 1)
                self.blobs[digest] = part(as_bytes(value), 2)
                code = bytes_field(2, number_field(1, 8)) if fault == "full" else b""
                if fault == "silent":
                    continue
                answers.append(bytes_field(1, bytes_field(1, digest) + code))
        return b"".join(answers)

    def _stream(self, request: bytes, fault: str) -> Iterator[bytes]:
        *folders, kind, sha256, size = part(request, 1).decode().split("/")
        self.instances.add("/".join(folders))
        assert kind == "blobs"
        data = self._told(digest_of(sha256, int(size)), fault)
        assert data is not None
        if fault == "drip":
            for _ in range(60):
                yield bytes_field(10, b"")
                time.sleep(0.05)
        for offset in range(0, len(data), STEP):
            yield bytes_field(10, data[offset : offset + STEP])

    def _write(self, requests: Iterator[bytes], fault: str) -> bytes:
        found = list(requests)
        *folders, uploads, unique, kind, sha256, size = part(found[0], 1).decode().split("/")
        self.instances.add("/".join(folders))
        assert (uploads, kind, len(unique)) == ("uploads", "blobs", 36)
        data = b""
        for request in found:
            assert as_number(dict(fields(request)).get(2, 0)) == len(data)
            data += part(request, 10)
        assert dict(fields(found[-1])).get(3) == 1
        self.blobs[digest_of(sha256, int(size))] = data
        return number_field(1, 7 if fault == "forgetful" else len(data))

    def _told(self, digest: bytes, fault: str) -> bytes | None:
        """What it says that a blob is."""
        data = self.blobs.get(digest)
        if data is None or fault == "missing":
            return None
        match fault:
            case "other":
                return data[:-1] + b"?"
            case "half":
                return data[: len(data) // 2]
            case "more":
                return data + b"?"
            case "endless":
                return data if len(data) < 1000 else data * (1 + (10 << 20) // len(data))
        return data

    def _instance(self, request: bytes) -> None:
        self.instances.add(part(request, 1).decode())


def part(message: bytes, number: int) -> bytes:
    """The bytes in a field of a message."""
    return as_bytes(dict(fields(message)).get(number, b""))


def digest_of(sha256: str, size: int) -> bytes:
    """The message of a digest."""
    return bytes_field(1, sha256.encode()) + number_field(2, size)


@contextmanager
def lying(certificate: Mapping[str, bytes] | None = None) -> Iterator[Liar]:
    """A server for as long as the block lasts; with a certificate (its `key` and `pem`) it has TLS."""
    liar = Liar()
    server = grpc.server(ThreadPoolExecutor(8), [liar], options=[("grpc.so_reuseport", 0)])
    if certificate is None:
        liar.port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = grpc.ssl_server_credentials([(certificate["key"], certificate["pem"])])
        liar.port = server.add_secure_port("127.0.0.1:0", pair)
    server.start()
    try:
        yield liar
    finally:
        server.stop(0)
