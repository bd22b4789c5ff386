"""Every refusal has a folder `refusals/<name>/`: `message.txt` is all that a user sees of `bad.rs`; `good.rs`, as close
to it as can be, is read and compiles.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sources.rust.project import read, refusal
from tilewright.exports.rules import RULES, SET_RULES

CASES = Path(__file__).parent / "refusals"
NAMES = sorted(folder.name for folder in CASES.iterdir())
UNREACHABLE = {
    "out-without-return",
    "value-not-scalar-input",
    "return-slot-not-last",
    "return-slot-misnamed",
    "return-slot-not-out",
    "max-ulps-negative",
    "empty-library",
}
"""Rules that only a description can break: the front end makes no such export."""


def message(name: str) -> str:
    return (CASES / name / "message.txt").read_text(encoding="utf-8")


def test_every_case_is_whole() -> None:
    assert len(NAMES) > 80
    for name in NAMES:
        assert {file.name for file in (CASES / name).iterdir()} == {"bad.rs", "good.rs", "message.txt"}


def test_every_rule_that_a_source_can_break_has_a_case_of_its_name() -> None:
    rules = {rule.name for rule in (*RULES, *SET_RULES)} - UNREACHABLE
    assert {rule for rule in rules if f"[{rule}]" in message(rule)} == rules


@pytest.mark.parametrize("name", NAMES)
def test_the_bad_source_is_refused_with_the_exact_message(name: str) -> None:
    shown = refusal(CASES / name, "bad.rs")
    assert f"{shown}\n" == message(name)
    head, margin, line, carets, *hint = shown.splitlines()
    assert re.match(r"bad\.rs:\d+:\d+: error: ", head)
    assert margin.endswith("|")
    assert re.match(r"    \d+ \|", line)
    assert re.fullmatch(r" +\| +\^+", carets)
    assert hint[0].startswith("  hint: ")


@pytest.mark.parametrize("name", NAMES)
def test_the_good_twin_compiles(name: str) -> None:
    assert read(CASES / name, "good.rs").exports.exports
