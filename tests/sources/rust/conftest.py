"""The tests of this folder run the real rustc."""

from __future__ import annotations

from pathlib import Path

import pytest

from needed_tools import needed


@pytest.fixture(scope="session", autouse=True)
def rustc() -> Path:
    """The compiler; every test here needs one."""
    return needed("rustc")
