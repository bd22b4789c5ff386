"""What may pass is tried again, a few times: a server of HTTP that is busy, resets a connection, or takes too long."""

from __future__ import annotations

import time

import pytest

from cache.conftest import Open, key, restored
from cache.servers import Server
from tilewright.cache import remote

FILES = [("a.txt", b"one" * 1000, False), ("b", b"two", True)]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_is_busy_for_a_moment_is_asked_again(
    server: Server, opened: Open, told: list[str], status: int
) -> None:
    server.fault, server.lasts, server.status = "busy", 2, status
    opened(server.url).store(key("x"), FILES, 0)
    server.lasts = 2
    assert restored(opened(server.url), FILES) == FILES
    assert told == []
    assert [request.split("/")[2] for request in server.requests] == ["cas"] * 4 + ["ac"] * 4 + ["cas"] * 2


@pytest.mark.parametrize("fault", ["reset", "half", "silent", "drip"])
def test_a_connection_that_is_lost_once_is_made_again(
    server: Server, opened: Open, told: list[str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    opened(server.url).store(key("x"), FILES, 0)
    cache = opened(server.url)
    assert restored(cache, FILES, "y") is None
    if fault in ("silent", "drip"):
        monkeypatch.setattr(remote, "TIME_LIMIT", 0.6)
    server.fault, server.lasts = fault, {"half": 2}.get(fault, 1)  # the entry is never half
    assert restored(cache, FILES) == FILES
    assert told == []


@pytest.mark.parametrize(
    ("fault", "words", "tries"),
    [
        ("busy", "answers with status 503", 3),
        ("reset", "closes the connection (", 3),
        ("silent", "takes too long for an answer", 1),
        ("status", "answers with status 500", 1),
    ],
)
def test_tries_are_few(
    server: Server,
    opened: Open,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    words: str,
    tries: int,
) -> None:
    if fault == "silent":
        monkeypatch.setattr(remote, "TIME_LIMIT", 0.6)
    server.fault = fault
    cache = opened(server.url)
    started = time.monotonic()
    assert [restored(cache, FILES), restored(cache, FILES)] == [None, None]
    assert time.monotonic() - started < 3
    assert len(server.requests) == tries
    assert len(told) == 1
    assert words in told[0]


@pytest.mark.parametrize(
    ("fault", "retries", "words"),
    [("busy", 3, "answers with status 503"), ("silent", 39, "takes too long for an answer")],
)
def test_a_server_that_fails_again_and_again_for_a_moment_is_left(
    server: Server,
    opened: Open,
    told: list[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
    retries: int,
    words: str,
) -> None:
    monkeypatch.setattr(remote, "RETRIES", retries)
    if fault == "silent":
        monkeypatch.setattr(remote, "TIME_LIMIT", 0.6)
    cache = opened(server.url)
    assert restored(cache, FILES) is None
    server.fault = fault
    for _ in range(3):
        server.lasts = 1
        assert restored(cache, FILES) is None
        assert told == []
    server.lasts = 1
    assert restored(cache, FILES) is None
    assert told == [f"tilewright cache: {server.url} {words}; it is not used any more in this run"]


@pytest.mark.parametrize(
    ("asked", "tries", "seconds"),
    [("1", 2, 1.0), ("0", 2, 0.0), ("3600", 1, 0.0), ("9" * 5000, 1, 0.0), ("Fri, 31 Dec 1999 23:59:59 GMT", 2, 0.1)],
)
def test_a_server_may_ask_for_a_short_pause(
    server: Server, opened: Open, asked: str, tries: int, seconds: float
) -> None:
    server.fault, server.lasts, server.retry_after = "busy", 1, asked
    started = time.monotonic()
    assert restored(opened(server.url), FILES) is None
    assert seconds <= time.monotonic() - started < seconds + 2
    assert len(server.requests) == tries
