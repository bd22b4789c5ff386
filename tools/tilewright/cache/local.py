"""The cache in a folder, shared by any number of builds at once.

`ac/` holds an entry an action, `cas/` the outputs by their SHA-256, `uses/` when which entry was used.  Every file
appears whole, by rename; outputs before the entry that names them.  So a build may be killed at any time, and what a
reader finds is either right, by its digest, or is removed and made again.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tilewright.cache.action_result import SIZE_LIMIT, Entry, Output, decode, encode

FORMAT = "tilewright-1"
"""The folder inside the one that the user names: another form of the contents gets another."""

STALE_SECONDS = 3600
JOURNALS = 64
"""Files in `uses/` beyond which they are merged."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What was wrong with an entry or an output, in words, and whether it could be removed."""

    what: str
    removed: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cache holds: its entries with their outputs, and the bytes of all outputs."""

    entries: int
    files: int
    size: int


class LocalStore:
    """A cache folder. Methods that read raise nothing; those that write raise OSError for what the system refuses.

    Where nothing may be removed, what is rotten stays, and is found to be rotten every time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FORMAT

    def entry(self, key: str) -> Entry | None:
        """The entry of a key; one that cannot be read is removed."""
        path = self._path("ac", key)
        try:
            with path.open("rb") as file:
                return decode(file.read(SIZE_LIMIT))
        except OSError:
            return None
        except ValueError:
            self.forget(key)
            return None

    def blob(self, output: Output) -> bytes | None:
        """The bytes of an output; those that are not what their name says are removed."""
        path = self._path("cas", output.sha256)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if len(data) == output.size and hashlib.sha256(data).hexdigest() == output.sha256:
            return data
        _removed(path)
        return None

    def forget(self, key: str) -> bool:
        """Removes an entry; whether it is gone."""
        return _removed(self._path("ac", key))

    def store(self, key: str, entry: Entry, blobs: Mapping[str, bytes]) -> None:
        """Adds an entry with the bytes of its outputs by their digest."""
        for digest, data in blobs.items():
            path = self._path("cas", digest)
            with suppress(OSError):
                if path.stat().st_size == len(data):
                    continue
            self._write(path, data)
        self._write(self._path("ac", key), encode(entry))

    def record_uses(self, keys: Mapping[str, float]) -> None:
        """Notes when entries were used (seconds since 1970): eviction goes by these notes, never by a file's time."""
        if keys:
            text = "".join(f"{when:.3f} {key}\n" for key, when in sorted(keys.items()))
            self._write(self.folder / "uses" / secrets.token_hex(8), text.encode())

    def contents(self) -> Contents:
        """What there is now."""
        sizes = list(self._blobs().values())
        return Contents(sum(1 for _ in self._keys()), len(sizes), sum(sizes))

    def faults(self) -> list[Fault]:
        """Every entry and output that is rotten or lacks its outputs; they are removed."""
        found = []
        for digest, size in sorted(self._blobs().items()):
            if self.blob(Output(digest, digest, size)) is None:
                found.append(Fault(f"the output {digest} was rotten", not self._path("cas", digest).exists()))
        for key in sorted(self._keys()):
            entry = self.entry(key)
            if entry is None:
                found.append(Fault(f"the entry {key} was rotten", self.forget(key)))
                continue
            lost = [output.name for output in entry.outputs if not self._path("cas", output.sha256).is_file()]
            if lost:
                found.append(Fault(f"the entry {key} had lost {', '.join(lost)}", self.forget(key)))
        return found

    def trim(self, limit: int) -> Contents:
        """Removes the entries whose last use is longest ago until all outputs have at most `limit` bytes.

        Gives what was removed. One process does it at a time, and another one finds nothing to do. OSError where
        nothing may be written.
        """
        with self._alone() as alone:
            return self._trim(limit) if alone else Contents(0, 0, 0)

    def _trim(self, limit: int) -> Contents:
        self._sweep()
        sizes = self._blobs()
        entries = {key: entry for key in self._keys() if (entry := self.entry(key)) is not None}
        users: dict[str, int] = {}
        for entry in entries.values():
            for output in {output.sha256 for output in entry.outputs}:
                users[output] = users.get(output, 0) + 1
        total = sum(sizes.values())
        gone: list[str] = []
        removed = 0
        uses = self._uses()
        for key in sorted(entries, key=lambda key: (uses.get(key, 0.0), key)):
            if total <= limit:
                break
            self.forget(key)
            removed += 1
            for output in {output.sha256 for output in entries[key].outputs}:
                users[output] -= 1
                if not users[output] and output in sizes:
                    total -= sizes[output]
                    gone.append(output)
        gone += [digest for digest in sizes if digest not in users and self._is_stale(self._path("cas", digest))]
        for digest in gone:
            _removed(self._path("cas", digest))
        return Contents(removed, len(gone), sum(sizes[digest] for digest in gone))

    def _uses(self) -> dict[str, float]:
        """The last use of each key; many journals become one."""
        last: dict[str, float] = {}
        journals = list(_files(self.folder / "uses"))
        for journal in journals:
            with suppress(OSError):
                for line in journal.read_text(encoding="ascii", errors="replace").splitlines():
                    when, _, key = line.partition(" ")
                    with suppress(ValueError):
                        last[key] = max(last.get(key, 0.0), float(when))
        if len(journals) > JOURNALS:
            present = set(self._keys())
            self.record_uses({key: when for key, when in last.items() if key in present})
            for journal in journals:
                _removed(journal)
        return last

    def _sweep(self) -> None:
        """Removes what killed builds had begun to write."""
        for file in _files(self.folder / "tmp"):
            if self._is_stale(file):
                _removed(file)

    def _is_stale(self, path: Path) -> bool:
        try:
            return time.time() - path.stat().st_mtime > STALE_SECONDS
        except OSError:
            return False

    def _keys(self) -> Iterator[str]:
        return (file.name for folder in _folders(self.folder / "ac") for file in _files(folder))

    def _blobs(self) -> dict[str, int]:
        sizes = {}
        for folder in _folders(self.folder / "cas"):
            for file in _files(folder):
                with suppress(OSError):
                    sizes[file.name] = file.stat().st_size
        return sizes

    def _path(self, kind: str, name: str) -> Path:
        return self.folder / kind / name[:2] / name

    def _write(self, path: Path, data: bytes) -> None:
        staged = self.folder / "tmp" / secrets.token_hex(16)
        for folder in (staged.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        try:
            staged.write_bytes(data)
            staged.replace(path)
        except BaseException:
            _removed(staged)
            raise

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        from filelock import FileLock, Timeout

        if not self.folder.is_dir():
            yield False
            return
        lock = FileLock(self.folder / "trim.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()


def _removed(path: Path) -> bool:
    """Removes a file; whether it is gone."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        return True
    return False


def _folders(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as found:
        yield from [Path(each.path) for each in found if each.is_dir()]


def _files(folder: Path) -> Iterator[Path]:
    with suppress(OSError), os.scandir(folder) as found:
        yield from [Path(each.path) for each in found if each.is_file()]
