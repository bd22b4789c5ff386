"""Programs that a test needs and that no wheel brings."""

from __future__ import annotations

import os
import shutil

import pytest

REQUIRE_ALL = "TILEWRIGHT_REQUIRE_ALL_TOOLS"


def needs(program: str) -> pytest.MarkDecorator:
    """Skips a test where the program is missing; with `TILEWRIGHT_REQUIRE_ALL_TOOLS` set, as in CI, the test fails."""
    absent = shutil.which(program) is None and not os.environ.get(REQUIRE_ALL)
    return pytest.mark.skipif(absent, reason=f"{program} is not installed")
