"""The cache key of every step follows everything that can change the bytes of its outputs, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from end_to_end.every_artifact import FILES, GRAPH
from end_to_end.key_changes import AFTER, ALL, CHANGES, LATE, NEVER_CACHED, OF_COMPONENTS, OF_ROOMS, SAME
from end_to_end.sandbox import TOOLS, Sandbox
from needed_tools import needs
from tilewright.scons import signatures
from tilewright.scons.tool import METHODS
from tilewright.toolchain.parts import PARTS

pytestmark = [needs("g++"), needs("rustc")]

SCONSTRUCT = (
    "from end_to_end import key_changes, step_keys\nstep_keys.measure(key_changes.EVERY, key_changes.LATE, globals())\n"
)
NOT_STEPS = {"TileNeeds", "TileShaderCheck"}
"""Methods that declare no step of which a cache keeps the outputs."""

NOT_HERE = {
    "TILELIB_OXIDE_SIG": "no cache keeps what cargo makes",
    "TILELIB_METAL_CHECK_SIG": "no cache keeps a report",
    "TILELIB_METAL_LIBRARY_SIG": "no cache keeps what Apple's compiler makes",
}
FIXED = {"TILELIB_SHADER_BACKEND": "the steps of two backends have other targets and another identity anyway"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By change the keys by step, and the values of what each step signs."""
    one = Sandbox(tmp_path_factory.mktemp("keys"))
    one.write({**FILES, "SConstruct": SCONSTRUCT})
    process = one.start("-Q", PYTHONPATH=f"{TOOLS}:{Path(__file__).parents[1]}")
    said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    found: dict[str, Any] = json.loads(one.read("keys.json"))
    for name, record in found.items():
        assert "error" not in record, (name, record["error"])
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {step for step, key in before["keys"].items() if after["keys"].get(step) != key}


def test_the_project_has_every_kind_of_step(measured: dict[str, Any]) -> None:
    assert set(measured["nothing"]["keys"]) == ALL
    assert len(set(measured["nothing"]["keys"].values())) == len(ALL)
    assert [row.name for row in METHODS if row.name not in GRAPH and row.name not in NOT_STEPS] == []


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_the_steps_that_it_can_change_other_keys(measured: dict[str, Any], change: str) -> None:
    assert changed(measured["nothing"], measured[change]) == CHANGES[change][1]


@pytest.mark.parametrize("change", LATE)
def test_a_change_of_the_machine_gives_every_step_another_key(measured: dict[str, Any], change: str) -> None:
    assert changed(measured["nothing"], measured[change]) == ALL


@pytest.mark.parametrize("change", AFTER)
def test_a_change_on_top_of_another(measured: dict[str, Any], change: str) -> None:
    before, _, steps = AFTER[change]
    assert changed(measured[before], measured[change]) == steps


@pytest.mark.parametrize("change", SAME)
def test_what_cannot_change_an_output_leaves_all_keys(measured: dict[str, Any], change: str) -> None:
    """A program holds the paths of its libraries as text."""
    with_paths = {"caller"} if change == "another build folder" else set()
    assert changed(measured["nothing"], measured[change]) == with_paths


def test_every_signed_variable_has_a_change_that_moves_a_key(measured: dict[str, Any]) -> None:
    """A builder that signs one thing more needs a row more."""
    before = measured["nothing"]
    moved = set()
    for record in measured.values():
        for step in changed(before, record) & record["signed"].keys():
            values = record["signed"][step]
            moved |= {name for name, value in before["signed"][step].items() if values.get(name) != value}
    signed = {name for values in before["signed"].values() for name in values}
    assert signed - moved - FIXED.keys() == set(), "each needs a row in key_changes.py"
    assert signatures.IDENTITIES.keys() - signed == NOT_HERE.keys(), "these are signed by no step of every_artifact.py"


def test_the_table_knows_every_tool_and_every_room() -> None:
    assert OF_COMPONENTS.keys() == {part.name for part in PARTS}
    assert OF_ROOMS.keys() | NEVER_CACHED == signatures.ROOMS.keys()
