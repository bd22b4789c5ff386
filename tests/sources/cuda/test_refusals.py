"""Every refusal has a folder `refusals/<name>/`: `message.txt` is all that a user sees of `bad.cu`; `good.cu`, as close
to it as can be, is read and compiles. A message stands for the user's own line and column.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources.project import ltoir, read, refusal
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit

CASES = Path(__file__).parent / "refusals"
NAMES = sorted(folder.name for folder in CASES.iterdir())


def test_every_case_is_whole() -> None:
    assert len(NAMES) > 80
    for name in NAMES:
        assert {file.name for file in (CASES / name).iterdir()} == {"bad.cu", "good.cu", "message.txt"}


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_source_is_refused_with_the_exact_message(name: str) -> None:
    message = refusal(CASES / name, "bad.cu")
    assert f"{message}\n" == (CASES / name / "message.txt").read_text(encoding="utf-8")
    for line in message.splitlines():
        assert re.match(r"bad\.cu:\d+:\d+: error: |  hint: | {8}", line)
    assert "  hint: " in message


@pytest.mark.parametrize("name", NAMES)
def test_the_good_twin_compiles(name: str, toolkit: Toolkit, workers: Workers) -> None:
    assert read(CASES / name, "good.cu").exports.exports
    assert ltoir(CASES / name, toolkit, workers, "good.cu")
