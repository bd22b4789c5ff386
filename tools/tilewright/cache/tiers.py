"""The cache that a build uses: a folder, a server behind it, or both, and what came of them."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.cache.action_result import Entry, Output
from tilewright.cache.errors import CacheError
from tilewright.cache.http import HttpStore
from tilewright.cache.local import LocalStore
from tilewright.cache.remote import BLOB_LIMIT, RemoteFailure, RemoteStore, no_address
from tilewright.problem import Problem

SIZE = 5 << 30
"""Bytes that a folder may hold, unless told otherwise."""

_SCHEME = re.compile(r"(\w+):/")

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(slots=True)
class Statistics:
    """What the cache did in this run; `seconds` is what making the restored outputs had taken."""

    hits: int = 0
    misses: int = 0
    size: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """For the end of a build."""
        hits = f"{self.hits} hit{'s' * (self.hits != 1)}"
        misses = f"{self.misses} miss{'es' * (self.misses != 1)}"
        return f"tilewright cache: {hits}, {misses}, {self.size} bytes restored, {self.seconds:.1f} s saved"


@dataclass
class Cache:
    """The tiers. `tell` prints one line; safe to use from several threads; no method raises."""

    local: LocalStore | None
    remote: RemoteStore | None
    tell: Callable[[str], None]
    write_remote: bool = False
    size_limit: int = SIZE
    statistics: Statistics = field(default_factory=Statistics)
    _uses: dict[str, float] = field(default_factory=dict)
    _said: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stored: bool = False
    _write_local: bool = True

    def restore(self, key: str, names: Sequence[str]) -> list[tuple[Output, bytes]] | None:
        """All outputs of an action with their bytes, every digest checked; None when one of them is not to be had.

        `names` are the outputs that the action has: an entry with others is none.
        """
        found = self._from_local(key, names) or self._from_remote(key, names)
        with self._lock:
            if found is None:
                self.statistics.misses += 1
                return None
            entry, blobs = found
            self.statistics.hits += 1
            self.statistics.size += sum(map(len, blobs))
            self.statistics.seconds += entry.seconds
            self._uses[key] = time.time()
        return list(zip(entry.outputs, blobs, strict=True))

    def store(self, key: str, files: Sequence[tuple[str, bytes, bool]], seconds: float) -> None:
        """Adds the outputs of an action: name, bytes and whether it may be run, in their order."""
        outputs = []
        blobs = {}
        for name, data, executable in files:
            digest = hashlib.sha256(data).hexdigest()
            outputs.append(Output(name, digest, len(data), executable))
            blobs[digest] = data
        entry = Entry(tuple(outputs), seconds)
        self._into_local(key, entry, blobs)
        remote = self.remote
        if remote is not None and self.write_remote and all(output.size <= BLOB_LIMIT for output in outputs):
            try:
                remote.store(key, entry, blobs)
            except RemoteFailure as failure:
                self._leave_remote(failure)

    def has(self, key: str) -> bool:
        """Whether the folder has an entry of the key."""
        return self.local is not None and self.local.entry(key) is not None

    def close(self) -> None:
        """At the end of a run: notes the uses, and trims the folder when something was added to it."""
        if self.local is None or not self._write_local:
            return
        with suppress(OSError):
            self.local.record_uses(self._uses)
            self._uses.clear()
            if self._stored and self.local.contents().size > self.size_limit:
                self.local.trim(self.size_limit)

    def _from_local(self, key: str, names: Sequence[str]) -> tuple[Entry, list[bytes]] | None:
        if self.local is None or (entry := self.local.entry(key)) is None:
            return None
        blobs = [self.local.blob(output) for output in entry.outputs]
        sound = [blob for blob in blobs if blob is not None]
        if len(sound) == len(blobs) and [output.name for output in entry.outputs] == list(names):
            return entry, sound
        end = "they are removed" if self.local.forget(key) else "they cannot be removed"
        self._say_once("rotten", f"tilewright cache: {self.local.folder.parent} holds rotten entries; {end}")
        return None

    def _from_remote(self, key: str, names: Sequence[str]) -> tuple[Entry, list[bytes]] | None:
        if (remote := self.remote) is None:
            return None
        try:
            if (entry := remote.entry(key)) is None:
                return None
            if [output.name for output in entry.outputs] != list(names):
                raise RemoteFailure("answers with the entry of another action")
            if any(output.size > BLOB_LIMIT for output in entry.outputs):
                return None
            if (blobs := remote.blobs(entry.outputs)) is None:
                return None
        except RemoteFailure as failure:
            self._leave_remote(failure)
            return None
        self._into_local(key, entry, {output.sha256: blob for output, blob in zip(entry.outputs, blobs, strict=True)})
        return entry, blobs

    def _into_local(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        if self.local is None or not self._write_local:
            return
        try:
            self.local.store(key, entry, blobs)
        except OSError as failure:
            self._write_local = False
            folder, reason = self.local.folder.parent, failure.strerror or failure
            self._say_once("full", f"tilewright cache: cannot write to {folder}: {reason}; nothing more is added to it")
            return
        with self._lock:
            self._stored = True
            self._uses[key] = time.time()

    def _leave_remote(self, failure: RemoteFailure) -> None:
        with self._lock:
            remote, self.remote = self.remote, None
        if remote is not None:
            self.tell(f"tilewright cache: {remote.url} {failure}; it is not used any more in this run")

    def _say_once(self, what: str, line: str) -> None:
        with self._lock:
            fresh = what not in self._said
            self._said.add(what)
        if fresh:
            self.tell(line)


def open_cache(
    places: str, *, top: Path, tell: Callable[[str], None], write_remote: bool = False, size: str = ""
) -> Cache:
    """The cache that `cache=` names: a folder (relative to `top`), the address of a server, or both with a comma.

    CacheError for anything else, and for what looks like an address that lost a slash.
    """
    named = [each.strip() for each in places.split(",")]
    addresses = [place for place in named if "://" in place]
    folders = [place for place in named if place not in addresses]
    if len(folders) > 1 or len(addresses) > 1 or not all(folders):
        what = f"`cache={places}` names {len(folders)} folders and {len(addresses)} addresses"
        raise CacheError([Problem(what, hint="cache=FOLDER, cache=http://..., or both with a comma")])
    local = None
    if folders:
        if like := _SCHEME.match(folders[0]):
            meant = f"{like[1]}://{folders[0][like.end() :]}"
            hint = f"did you mean `{meant}`? `./{folders[0]}` would be a folder"
            raise CacheError([Problem(f"`{folders[0]}` is no address of a cache", hint=hint)])
        folder = top / Path(folders[0]).expanduser()
        blocked = next(
            (each for each in (folder, *folder.parents) if os.path.lexists(each) and not each.is_dir()), None
        )
        if blocked is not None:
            raise CacheError([Problem(f"`{blocked}` is a file, and the cache needs a folder", hint="cache=FOLDER")])
        local = LocalStore(folder)
    remote = _server(addresses[0], os.environ) if addresses else None
    return Cache(local, remote, tell, write_remote, size_of(size) if size else SIZE)


def _server(url: str, environ: Mapping[str, str]) -> RemoteStore:
    scheme = url.partition("://")[0].lower()
    if scheme in ("http", "https"):
        return HttpStore(url, environ)
    if scheme in ("grpc", "grpcs"):
        from tilewright.cache.reapi import ReapiStore

        return ReapiStore(url, environ)
    raise no_address(url)


def size_of(text: str) -> int:
    """Bytes from text such as 500M or 5G, in powers of 1024; CacheError for any other text."""
    number, unit = text.strip().lower().removesuffix("b").removesuffix("i"), ""
    if number and number[-1] in UNITS:
        number, unit = number[:-1], number[-1]
    if not (number.isascii() and number.isdigit()):
        raise CacheError([Problem(f"`{text}` is no size", hint="a number with k, M, G or T, such as 5G")])
    return int(number) * UNITS[unit]
