"""A missing program skips a test at home and fails it in CI."""

from __future__ import annotations

import pytest

from needed_tools import REQUIRE_ALL, needs


def test_a_missing_program_skips_unless_every_tool_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRE_ALL, raising=False)
    assert needs("no-such-program").args == (True,)
    assert needs("sh").args == (False,)
    monkeypatch.setenv(REQUIRE_ALL, "1")
    assert needs("no-such-program").args == (False,)


def test_ci_requires_every_tool() -> None:
    from checks import ROOT

    assert f"export {REQUIRE_ALL}=1\n" in (ROOT / ".ci/run").read_text(encoding="utf-8")
