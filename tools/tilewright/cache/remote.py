"""What every cache server has in common: its interface, how long it is waited for, what lets us in, what it fails with.

A server may be dead, slow, refusing or lying: a failure that may pass is tried again a few times, any other ends its
use for the run.  So it costs a bounded delay and one line.  What it gives counts only when it has the digest and the
size that were asked for.
"""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from tilewright.cache.action_result import Entry, Output
from tilewright.cache.errors import CacheError
from tilewright.problem import Problem

TOKEN, USER, PASSWORD = "TILEWRIGHT_CACHE_TOKEN", "TILEWRIGHT_CACHE_USER", "TILEWRIGHT_CACHE_PASSWORD"
"""Environment variables: a bearer token, or a name and password for basic authentication."""

EXAMPLES = "cache=http://cache.example:8080 or cache=grpc://cache.example:8980/instance"

TIME_LIMIT = 10.0
"""Seconds for one request, the connection included; large outputs get up to `LONGEST` more."""

LONGEST = 60.0
_SLOWEST = 1e6  # bytes a second

PAUSES = (0.1, 0.4)
"""Seconds before a request is tried again, for the first time and the second."""

LONGEST_PAUSE = 3.0
"""Seconds that a server may ask us to wait for; one that asks for more is left at once."""

RETRIES = 30
"""How often requests are tried again in a run altogether; once after a time-out counts as `LATE_RETRY` times."""

LATE_RETRY = 10

BLOB_LIMIT = 1 << 30
"""Bytes of the largest output that is shared through a server."""

TOO_SLOW = "takes too long for an answer"
TOO_MUCH = "answers with more than it was asked for"
NO_ENTRY = "answers with something that is no entry"
OTHER_BYTES = "answers with other bytes than it was asked for"
BROKEN_OFF = "breaks off in the middle of an answer"

T = TypeVar("T")


class RemoteFailure(Exception):
    """Why a server is not used any more; the text says it to a user."""


class PassingFailure(RemoteFailure):
    """A failure that may be gone at the next try: `late` after a time-out, `pause` is what the server asks for."""

    def __init__(self, text: str, *, late: bool = False, pause: float | None = None) -> None:
        super().__init__(text)
        self.late = late
        self.pause = pause


class RemoteStore(Protocol):
    """A cache server. Every method raises RemoteFailure when the server is of no use; safe to use from several threads.

    `url` names it to a user.
    """

    url: str

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, None when the server has none."""

    def blobs(self, outputs: Sequence[Output]) -> list[bytes] | None:
        """The bytes of each output, checked by size and digest; None when the server lacks one of them."""

    def store(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        """Adds the outputs, by their digest, then the entry."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is; `path` has no slash at its ends."""

    scheme: str
    host: str
    port: int | None
    path: str


def address_of(url: str) -> Address:
    """The parts of an address; CacheError for one that is none, or that holds a password or a query."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if not parts.hostname or port == -1:
        raise no_address(url)
    if parts.username is not None or parts.query or parts.fragment:
        what = f"the address of the cache holds more than host, port and path: {parts.hostname}"
        hint = f"{TOKEN}, or {USER} and {PASSWORD}, in the environment let it in"
        raise CacheError([Problem(what, hint=hint)])
    return Address(parts.scheme, parts.hostname, port, parts.path.strip("/"))


def no_address(url: str) -> CacheError:
    """The error for an address that no cache can have."""
    return CacheError([Problem(f"`{url}` is no address of a cache", hint=EXAMPLES)])


def authorization(environ: Mapping[str, str]) -> dict[str, str]:
    """The header that lets us in, if the environment has what it takes; CacheError for a token that fits into none."""
    if token := environ.get(TOKEN):
        if not (token.isascii() and token.isprintable()):
            raise CacheError([Problem(f"{TOKEN} holds characters that no request may carry", hint="printable ASCII")])
        return {"Authorization": f"Bearer {token}"}
    if user := environ.get(USER):
        pair = f"{user}:{environ.get(PASSWORD, '')}".encode("utf-8", "surrogateescape")
        return {"Authorization": "Basic " + base64.b64encode(pair).decode()}
    return {}


def refusal(status: int | str) -> str:
    """The text for a server that knows us not, or not enough."""
    return f"refuses us (status {status}); {TOKEN}, or {USER} and {PASSWORD}, in the environment let it in"


def time_for(size: int) -> float:
    """Seconds for a request that moves so many bytes."""
    return TIME_LIMIT + min(size / _SLOWEST, LONGEST)


class Retries:
    """The tries of one server in a run."""

    def __init__(self) -> None:
        self._left = RETRIES
        self._answered = False
        self._lock = threading.Lock()

    def run(self, attempt: Callable[[], T]) -> T:
        """What the attempt gives; it must be one that may be repeated.

        When its failure may pass, it is made again after a pause, twice at most. After a time-out, which has cost much
        already, it is made again once, and only when the server has ever answered. RemoteFailure when nothing helps.
        """
        for pause in (*PAUSES, None):
            try:
                found = attempt()
            except PassingFailure as failure:
                if pause is None or (failure.late and pause != PAUSES[0]) or not self._again(failure):
                    raise
                time.sleep(pause if failure.pause is None else failure.pause)
            else:
                self._answered = True
                return found
        raise AssertionError("the last attempt has an end")

    def _again(self, failure: PassingFailure) -> bool:
        if failure.late and not self._answered:
            return False
        with self._lock:
            self._left -= LATE_RETRY if failure.late else 1
            return self._left >= 0
