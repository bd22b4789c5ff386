"""The build variables: what may be written, what wins, and what is refused."""

from __future__ import annotations

from dataclasses import fields

import pytest

from tilewright.scons.errors import BuildScriptError
from tilewright.scons.undeclared_alias import MAKERS
from tilewright.scons.variables import (
    TARGETS,
    VARIABLES,
    Settings,
    contradictions,
    help_text,
    known_names,
    read_settings,
    unknown_variables,
    variables_reference,
)


def test_every_row_has_its_setting_its_reference_and_its_help() -> None:
    names = [row.name for row in VARIABLES]
    assert names == [field.name for field in fields(Settings)]
    for row in VARIABLES:
        assert f"| `{row.name}` |" in variables_reference()
        assert f"  {row.name}=  {row.sentence}" in help_text()
        assert {row.name, f"tilelib_{row.name}"} <= set(known_names())


def test_every_alias_is_in_the_help_and_knows_what_declares_it() -> None:
    assert TARGETS.keys() == MAKERS.keys()
    for name, sentence in TARGETS.items():
        assert f"\n  {name}  {sentence}\n" in help_text()


def test_defaults_are_those_of_the_rows() -> None:
    assert read_settings({}) == Settings()
    assert read_settings({row.name: row.default for row in VARIABLES}) == Settings()


@pytest.mark.parametrize(("text", "value"), [("1", True), ("Yes", True), (True, True), ("0", False), ("off", False)])
def test_flags_have_several_spellings(text: object, value: bool) -> None:
    assert read_settings({"print": text}).print is value


def test_an_architecture_list_may_be_a_list() -> None:
    assert read_settings({"arch": ["sm_90", "sm_120"]}).arch == "sm_90,sm_120"


def test_a_command_is_split_as_a_shell_does_and_a_list_is_its_words() -> None:
    assert read_settings({"launcher": " run 'a b'  -x "}).launcher == "run 'a b' -x"
    assert read_settings({"launcher": ["run", "a b"]}).launcher == "run 'a b'"
    assert read_settings({"launcher": ""}, {"launcher": "run"}).launcher == ""


@pytest.mark.parametrize(
    ("text", "what"),
    [("run 'a", "`launcher=run 'a` is no command line: no closing quotation"), (" ", "`launcher= ` names no command")],
)
def test_a_command_that_does_not_end_or_is_blank_is_refused(text: str, what: str) -> None:
    with pytest.raises(BuildScriptError) as caught:
        read_settings({"launcher": text})
    (problem,) = caught.value.problems
    assert problem.what == what
    assert "launcher" in problem.hint


def test_the_command_line_wins_over_the_script_and_a_prefixed_name_over_all() -> None:
    assert read_settings({"arch": "sm_120"}, {"arch": "sm_90"}).arch == "sm_120"
    assert read_settings({"arch": "x86_64"}, {"tilelib_arch": "sm_90"}).arch == "sm_90"
    assert read_settings({"tilelib_arch": "sm_100", "arch": "x86_64"}, {"tilelib_arch": "sm_90"}).arch == "sm_100"


def test_all_wrong_values_are_told_at_once() -> None:
    with pytest.raises(BuildScriptError) as caught:
        read_settings({"print": "maybe", "tilelib_verbose": "2"})
    assert [problem.what for problem in caught.value.problems] == [
        "`print=maybe` is neither yes nor no",
        "`tilelib_verbose=2` is neither yes nor no",
    ]
    assert caught.value.problems[0].hint == "print=1 or print=0"


def test_an_unknown_variable_gets_the_nearest_spelling_and_the_list() -> None:
    (problem,) = unknown_variables(["arch", "libary_optional", "mine"], known=["mine"])
    assert problem.what == "there is no build variable `libary_optional`"
    assert problem.hint.splitlines()[0] == "did you mean `library_optional`?"
    assert problem.hint.endswith(", ".join([*(row.name for row in VARIABLES), "mine"]))


def test_a_variable_may_be_repeated_but_not_contradicted() -> None:
    assert contradictions([("arch", "sm_90"), ("arch", "sm_90"), ("other", "1"), ("other", "2")]) == []
    (problem,) = contradictions([("print", "0"), ("print", "1")])
    assert problem.what == "`print` is given more than once: 0 and 1"
    assert problem.hint == "print=1"
