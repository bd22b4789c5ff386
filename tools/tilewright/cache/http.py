"""A cache over HTTP, as bazel-remote lays it out: `/ac/<key>` and `/cas/<sha256>`, read with GET, written with PUT.

A server may be dead, slow, refusing or lying: the first failure ends its use for the run, so it costs a bounded delay
and one line.  What it gives counts only when it has the digest that was asked for.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote, urlsplit

from tilewright.cache.action_result import SIZE_LIMIT, Entry, Output, decode, encode
from tilewright.cache.errors import CacheError
from tilewright.problem import Problem

TOKEN, USER, PASSWORD = "TILEWRIGHT_CACHE_TOKEN", "TILEWRIGHT_CACHE_USER", "TILEWRIGHT_CACHE_PASSWORD"
"""Environment variables: a bearer token, or a name and password for basic authentication."""

TIME_LIMIT = 10.0
"""Seconds for one request, the connection included; large outputs get up to `LONGEST` more."""

LONGEST = 60.0
_SLOWEST = 1e6  # bytes a second
_TOO_SLOW = "takes too long for an answer"

BLOB_LIMIT = 1 << 30
_CHUNK = 1 << 16


class RemoteFailure(Exception):
    """Why a server is not used any more; the text says it to a user."""


class HttpStore:
    """A server by its URL. Every method raises RemoteFailure when the server is of no use."""

    def __init__(self, url: str, environ: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise CacheError([Problem(f"`{url}` is no address of a cache", hint="cache=http://cache.example:8080")])
        if parts.username is not None or parts.query or parts.fragment:
            what = f"the address of the cache holds more than host, port and path: {parts.hostname}"
            hint = f"{TOKEN}, or {USER} and {PASSWORD}, in the environment let it in"
            raise CacheError([Problem(what, hint=hint)])
        self.url = url.rstrip("/")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, port
        self._path = quote(parts.path.rstrip("/"))
        self._headers = _authorization(environ)
        self._local = threading.local()

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, None when the server has none."""
        data = self._get(f"/ac/{key}", SIZE_LIMIT)
        try:
            return decode(data) if data is not None else None
        except ValueError:
            raise RemoteFailure("answers with something that is no entry") from None

    def blob(self, output: Output) -> bytes | None:
        """The bytes of an output, None when the server has them not."""
        data = self._get(f"/cas/{output.sha256}", min(output.size, BLOB_LIMIT))
        if data is not None and hashlib.sha256(data).hexdigest() != output.sha256:
            raise RemoteFailure("answers with other bytes than it was asked for")
        return data

    def store(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        """Adds the outputs, then the entry."""
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
        """Status and body; a connection that was kept and has gone away meanwhile is made again, once."""
        for kept in (True, False):
            connection, fresh = self._connection(reuse=kept)
            watch = _Watch(connection, TIME_LIMIT + min(max(limit, len(data)) / _SLOWEST, LONGEST))
            try:
                connection.request(method, self._path + path, data or None, self._headers)
                response = connection.getresponse()
                body = _body(response, limit)
                if watch.late:
                    raise TimeoutError
            except (http.client.HTTPException, OSError, RemoteFailure) as failure:
                late = watch.late or isinstance(failure, TimeoutError)
                self._drop()
                if kept and not fresh and not late and not isinstance(failure, RemoteFailure):
                    continue
                raise RemoteFailure(_TOO_SLOW if late else _failure(failure)) from None
            finally:
                watch.stop()
            return response.status, body
        raise AssertionError("the second connection is a fresh one")

    def _connection(self, *, reuse: bool) -> tuple[http.client.HTTPConnection, bool]:
        """The connection of this thread, and whether it was made just now."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is not None and reuse:
            return connection, False
        if self._secure:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIME_LIMIT, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=TIME_LIMIT)
        self._local.connection = connection
        return connection, True

    def _drop(self) -> None:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()


class _Watch:
    """Cuts a connection when a request takes too long: a server that drips bytes resets every other time-out."""

    def __init__(self, connection: http.client.HTTPConnection, seconds: float) -> None:
        self.late = False
        self._connection = connection
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """The request is over."""
        self._timer.cancel()

    def _cut(self) -> None:
        self.late = True
        if (line := self._connection.sock) is not None:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


def _body(response: http.client.HTTPResponse, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        if response.status == http.client.OK and size > limit:
            raise RemoteFailure("answers with more than it was asked for")
        if response.status == http.client.OK:
            parts.append(chunk)
        elif size > SIZE_LIMIT:
            raise RemoteFailure(_refusal(response.status))
    if response.length:
        raise RemoteFailure("breaks off in the middle of an answer")
    return b"".join(parts)


def _authorization(environ: Mapping[str, str]) -> dict[str, str]:
    if token := environ.get(TOKEN):
        return {"Authorization": f"Bearer {token}"}
    if user := environ.get(USER):
        pair = f"{user}:{environ.get(PASSWORD, '')}".encode()
        return {"Authorization": "Basic " + base64.b64encode(pair).decode()}
    return {}


def _refusal(status: int) -> str:
    if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return f"refuses us (status {status}); {TOKEN}, or {USER} and {PASSWORD}, in the environment let it in"
    return f"answers with status {status}"


def _failure(failure: Exception) -> str:
    if isinstance(failure, RemoteFailure):
        return str(failure)
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"has a certificate that is not trusted ({failure.verify_message})"
    if isinstance(failure, http.client.IncompleteRead):
        return "breaks off in the middle of an answer"
    if isinstance(failure, http.client.HTTPException):
        return f"does not speak HTTP ({type(failure).__name__})"
    return f"cannot be reached ({failure})"
