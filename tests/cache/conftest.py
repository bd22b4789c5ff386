"""An entry to store, and a folder to store it in."""

from __future__ import annotations

import hashlib
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
