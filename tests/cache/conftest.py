"""An entry to store, folders and servers to store it in, and the cache of a build over them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cache.servers import Server, serving
from tilewright.cache import remote
from tilewright.cache.action_result import Entry, Output
from tilewright.cache.local import LocalStore
from tilewright.cache.tiers import Cache, open_cache

TOOLS = Path(__file__).parents[2] / "tools"
Files = list[tuple[str, bytes, bool]]
Open = Callable[..., Cache]

with_credentials = pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({remote.TOKEN: "s3cret"}, "Bearer s3cret"),
        ({remote.USER: "ann", remote.PASSWORD: "pw"}, "Basic YW5uOnB3"),
    ],
)
"""What lets us in, in the environment, and the header that a server gets of it."""


def outputs(**contents: bytes) -> tuple[Entry, dict[str, bytes]]:
    """An entry with these outputs, and their bytes by digest."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    entry = Entry(tuple(Output(name, digests[name], len(data)) for name, data in contents.items()), 1.5)
    return entry, {digests[name]: data for name, data in contents.items()}


def in_a_process(script: str, *words: str) -> str:
    """What a Python of its own prints for a script; it must succeed, and nobody may write to its standard error."""
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        env={**os.environ, "PYTHONPATH": str(TOOLS)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def key(name: str) -> str:
    """A key."""
    return hashlib.sha256(name.encode()).hexdigest()


def restored(cache: Cache, files: Files, name: str = "x") -> Files | None:
    """What a key gives, which must have outputs of the names of these; None for a miss."""
    found = cache.restore(key(name), [output for output, _, _ in files])
    return None if found is None else [(output.name, data, output.executable) for output, data in found]


@pytest.fixture
def told() -> list[str]:
    """The lines that the caches of this test print."""
    return []


@pytest.fixture
def opened(tmp_path: Path, told: list[str]) -> Open:
    """Opens a cache by its places."""

    def make(places: str, write: bool = True) -> Cache:
        return open_cache(places, top=tmp_path, tell=told.append, write_remote=write)

    return make


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of HTTP."""
    with serving() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    """An empty cache folder."""
    return LocalStore(tmp_path / "cache")


@pytest.fixture
def reachable() -> Iterator[Path]:
    """An empty folder that every user of the machine may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def writing_refused(folder: Path) -> Iterator[None]:
    """Nothing in the folder may be written inside of this block; root, who may write everywhere, is nobody in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
