"""What the tests of this room share: one worker and the host's C++ compiler."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from needed_tools import needed
from tilewright.callers.host.compiler import find_compiler
from tilewright.device.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """One process for the whole session, as a build has one pool."""
    with Workers(1) as pool:
        yield pool


@pytest.fixture(scope="session")
def compiler() -> str:
    """The C++ compiler of this machine."""
    needed("g++")
    return find_compiler(os.environ)
