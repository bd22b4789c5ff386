"""A change of one tool or one room redoes the steps whose bytes it can change, and no others."""

from __future__ import annotations

import pytest

from end_to_end.sandbox import Sandbox

IDENTITIES = {
    "TILELIB_EXPORTS_SIG": {"exports"},
    "TILELIB_LTOIR_SIG": {"ltoir"},
    "TILELIB_BYTECODE_SIG": {"bytecode"},
    "TILELIB_LIBRARY_SIG": {"library"},
}


def test_a_new_identity_redoes_its_own_kind_of_step_only(sandbox: Sandbox) -> None:
    sandbox.edit("SConstruct", "relu = ", 'env[ARGUMENTS.get("identity", "OTHER")] = "new"\nrelu = ')
    sandbox.edit("SConstruct", "check_variables()", 'check_variables(["identity"])')
    assert sandbox.scons("arch=sm_120").code == 0
    assert sandbox.scons("arch=sm_120").up_to_date()
    for variable, steps in IDENTITIES.items():
        assert sandbox.scons("arch=sm_120", f"identity={variable}").rebuilt(*steps), variable
        assert sandbox.scons("arch=sm_120").rebuilt(*steps), variable


def test_a_failing_tool_named_by_hand_stops_before_anything_is_built(sandbox: Sandbox) -> None:
    run = sandbox.scons("arch=sm_120", CUTILE_TILEIRAS_PATH="/nowhere/tileiras")
    assert run.code == 2
    assert "CUTILE_TILEIRAS_PATH names /nowhere/tileiras, which does not exist" in run.errors[0]
    assert "Traceback" not in run.err
    assert sandbox.tree("build") == {}


@pytest.mark.parametrize("option", ["-c", "-h"])
def test_cleaning_and_help_ask_no_tool(sandbox: Sandbox, option: str) -> None:
    assert sandbox.scons(option, CUTILE_TILEIRAS_PATH="/nowhere/tileiras").code == 0
