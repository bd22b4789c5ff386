"""A cache server in this process that can be told to misbehave."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """`contents` by path; `fault` is how it answers; `requests` and `connections` count what it saw.

    The fault meets `lasts` requests, or all when that is negative.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.contents: dict[str, bytes] = {}
        self.fault = ""
        self.lasts = -1
        self.status = 503
        self.retry_after = ""
        self.expected = ""
        self.requests: list[str] = []
        self.connections = 0

    @property
    def url(self) -> str:
        """Its address, with a folder."""
        return f"http://127.0.0.1:{self.server_address[1]}/team"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no error here."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server
    fault = ""

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.server.connections += 1

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        if not self._allowed("GET") or self._broken():
            return
        data = self.server.contents.get(self.path)
        match self.fault:
            case "html":
                self._answer(200, b"<html>Welcome to the hotel network</html>")
            case "status":
                self._answer(500, b"oh")
            case "other" if data is not None and "/cas/" in self.path:
                self._answer(200, data[:-1] + b"?")
            case "half" if data is not None and "/cas/" in self.path:
                self._answer(200, data, sent=len(data) // 2)
                self.close_connection = True
            case "endless":
                self.send_response(200)
                self.end_headers()
                self._forever(b"x" * 65536, 0)
            case "drip":
                self.connection.sendall(b"HTTP/1.1 200 OK\r\n")
                self._forever(b"X-Drip: 1\r\n", 0.05)
            case "silent":
                time.sleep(5)
            case "no-http":
                self.connection.sendall(b"220 mail.example ready\r\n")
                self.close_connection = True
            case _ if data is None:
                self._answer(404, b"")
            case _:
                self._answer(200, data)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self._allowed("PUT") and not self._broken():
            self.server.contents[self.path] = data
            self._answer(201, b"")

    def _broken(self) -> bool:
        """The faults that reading and writing share."""
        match self.fault:
            case "busy":
                self._answer(self.server.status, b"wait")
            case "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
            case _:
                return False
        return True

    def _allowed(self, method: str) -> bool:
        self.server.requests.append(f"{method} {self.path}")
        self.fault = self.server.fault if self.server.lasts else ""
        self.server.lasts -= self.server.lasts > 0
        if self.server.expected and self.headers["Authorization"] != self.server.expected:
            self._answer(401, b"no")
            return False
        return True

    def _answer(self, status: int, data: bytes, sent: int | None = None) -> None:
        asked = f"Retry-After: {self.server.retry_after}\r\n" if self.server.retry_after else ""
        head = f"HTTP/1.1 {status} x\r\n{asked}Content-Length: {len(data)}\r\n\r\n".encode()
        self.connection.sendall(head + data[:sent])

    def _forever(self, data: bytes, pause: float) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            self.connection.sendall(data)
            time.sleep(pause)


@contextmanager
def serving() -> Iterator[Server]:
    """A server for as long as the block lasts."""
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
