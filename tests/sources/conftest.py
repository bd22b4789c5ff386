"""What the tests of this room share: one pool of workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tilewright.device.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    """One process for the whole session."""
    with Workers(1) as pool:
        yield pool
