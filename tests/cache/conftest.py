"""An entry to store, and folders to store it in."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tilewright.cache.action_result import Entry, Output
from tilewright.cache.local import LocalStore


def outputs(**contents: bytes) -> tuple[Entry, dict[str, bytes]]:
    """An entry with these outputs, and their bytes by digest."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    entry = Entry(tuple(Output(name, digests[name], len(data)) for name, data in contents.items()), 1.5)
    return entry, {digests[name]: data for name, data in contents.items()}


def key(name: str) -> str:
    """A key."""
    return hashlib.sha256(name.encode()).hexdigest()


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
