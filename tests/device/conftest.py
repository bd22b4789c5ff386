"""What the tests of this room share: one pool, and a way to write a library in a line."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilewright.device.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """Two processes for the whole session."""
    with Workers(2) as pool:
        yield pool
