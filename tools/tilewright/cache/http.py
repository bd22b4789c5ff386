"""A cache over HTTP, as bazel-remote lays it out: `/ac/<key>` and `/cas/<sha256>`, read with GET, written with PUT.

Both may be repeated without harm, so a request is: after a connection that was reset, a server that is busy for a
moment (429, 502, 503, 504) and a time-out.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import quote

from tilewright.cache import remote
from tilewright.cache.action_result import SIZE_LIMIT, Entry, Output, decode, encode
from tilewright.cache.deadlines import Deadlines
from tilewright.cache.remote import PassingFailure, RemoteFailure

_BUSY = (
    http.client.TOO_MANY_REQUESTS,
    http.client.BAD_GATEWAY,
    http.client.SERVICE_UNAVAILABLE,
    http.client.GATEWAY_TIMEOUT,
)
_CHUNK = 1 << 16


class HttpStore:
    """A server by its URL; a `RemoteStore`."""

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        address = remote.address_of(url)
        self.url = url.rstrip("/")
        self._secure, self._host, self._port = address.scheme == "https", address.host, address.port
        self._path = quote(f"/{address.path}".rstrip("/"))
        self._headers = remote.authorization(environ)
        self._retries = remote.Retries()
        self._deadlines = Deadlines()
        self._local = threading.local()

    def entry(self, key: str) -> Entry | None:
        data = self._get(f"/ac/{key}", SIZE_LIMIT)
        try:
            return decode(data) if data is not None else None
        except ValueError:
            raise RemoteFailure(remote.NO_ENTRY) from None

    def blobs(self, outputs: Sequence[Output]) -> list[bytes] | None:
        found = []
        for output in outputs:
            data = self._get(f"/cas/{output.sha256}", output.size)
            if data is None:
                return None
            if len(data) != output.size or hashlib.sha256(data).hexdigest() != output.sha256:
                raise RemoteFailure(remote.OTHER_BYTES)
            found.append(data)
        return found

    def store(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        for digest, data in blobs.items():
            self._put(f"/cas/{digest}", data)
        self._put(f"/ac/{key}", encode(entry))

    def _get(self, path: str, limit: int) -> bytes | None:
        status, body = self._ask("GET", path, b"", limit)
        if status == http.client.NOT_FOUND:
            return None
        if status != http.client.OK:
            raise RemoteFailure(_refusal(status))
        return body

    def _put(self, path: str, data: bytes) -> None:
        status, _ = self._ask("PUT", path, data, SIZE_LIMIT)
        if not 200 <= status < 300:
            raise RemoteFailure(_refusal(status))

    def _ask(self, method: str, path: str, data: bytes, limit: int) -> tuple[int, bytes]:
        """Status and body."""
        return self._retries.run(lambda: self._attempt(method, path, data, limit))

    def _attempt(self, method: str, path: str, data: bytes, limit: int) -> tuple[int, bytes]:
        """Status and body; a connection that was kept and has gone away meanwhile is made again, once."""
        connection, fresh = self._connection()
        with self._deadlines.after(remote.time_for(max(limit, len(data))), lambda: _cut(connection)) as deadline:
            try:
                connection.request(method, self._path + path, data or None, self._headers)
                response = connection.getresponse()
                body = _body(response, limit)
                failure: Exception | None = TimeoutError() if deadline.passed else None
            except (http.client.HTTPException, OSError, UnicodeError, RemoteFailure) as error:
                failure = error
        if failure is not None:
            self._drop()
            late = deadline.passed or isinstance(failure, TimeoutError)
            if fresh or late or isinstance(failure, RemoteFailure):
                raise _failure(failure, late)
            return self._attempt(method, path, data, limit)
        if response.status in _BUSY:
            raise _busy(response)
        return response.status, body

    def _connection(self) -> tuple[http.client.HTTPConnection, bool]:
        """The connection of this thread, and whether it was made just now."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None:
            return connection, False
        limit = remote.TIME_LIMIT
        if self._secure:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=limit, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=limit)
        self._local.connection = connection
        return connection, True

    def _drop(self) -> None:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()


def _cut(connection: http.client.HTTPConnection) -> None:
    """Ends a request that takes too long: a server that drips bytes resets every other time-out."""
    if (line := connection.sock) is not None:
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


def _body(response: http.client.HTTPResponse, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        if response.status == http.client.OK and size > limit:
            raise RemoteFailure(remote.TOO_MUCH)
        if response.status == http.client.OK:
            parts.append(chunk)
        elif size > SIZE_LIMIT:
            raise RemoteFailure(_refusal(response.status))
    if response.length:
        raise PassingFailure(remote.BROKEN_OFF)
    return b"".join(parts)


def _busy(response: http.client.HTTPResponse) -> RemoteFailure:
    """The failure of a server that is busy for a moment, or for as long as it says."""
    asked = response.headers.get("Retry-After", "")
    if not (asked.isascii() and asked.isdigit()):
        return PassingFailure(_refusal(response.status))
    if len(asked) > 9 or int(asked) > remote.LONGEST_PAUSE:
        return RemoteFailure(_refusal(response.status))
    return PassingFailure(_refusal(response.status), pause=float(asked))


def _refusal(status: int) -> str:
    if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return remote.refusal(status)
    return f"answers with status {status}"


def _failure(failure: Exception, late: bool) -> RemoteFailure:
    if late:
        return PassingFailure(remote.TOO_SLOW, late=True)
    if isinstance(failure, RemoteFailure):
        return failure
    if isinstance(failure, ssl.SSLCertVerificationError):
        return RemoteFailure(f"has a certificate that is not trusted ({failure.verify_message})")
    if isinstance(failure, http.client.IncompleteRead):
        return PassingFailure(remote.BROKEN_OFF)
    if isinstance(failure, ConnectionResetError | ConnectionAbortedError | BrokenPipeError | ssl.SSLEOFError):
        return PassingFailure(f"closes the connection ({failure})")
    if isinstance(failure, http.client.HTTPException):
        return RemoteFailure(f"does not speak HTTP ({type(failure).__name__})")
    return RemoteFailure(f"cannot be reached ({failure})")
