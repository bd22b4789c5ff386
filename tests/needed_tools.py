"""Programs that a test needs and that no wheel brings."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

REQUIRE_ALL = "TILEWRIGHT_REQUIRE_ALL_TOOLS"


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is missing; with `TILEWRIGHT_REQUIRE_ALL_TOOLS` set, as in CI, the test fails."""
    absent = _located(program) is None and not os.environ.get(REQUIRE_ALL)
    return pytest.mark.skipif(absent, reason=_absence(program))


def needed(program: str) -> Path:
    """The program, for a fixture; where it is missing, every test that asks for it skips or fails as with `needs`."""
    found = _located(program)
    if found is not None:
        return Path(found)
    if os.environ.get(REQUIRE_ALL):
        pytest.fail(_absence(program))
    pytest.skip(_absence(program))


def _located(program: str) -> str | None:
    """On PATH, else where rustup puts its programs."""
    return shutil.which(program) or shutil.which(str(Path.home() / ".cargo/bin" / program))


def _absence(program: str) -> str:
    return f"{program} is not installed"
