"""A step behind a launcher: what the launcher is told, and every way in which it can fail."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from SCons.Errors import BuildError
from SCons.Node.FS import FS, File

from tilewright.scons.errors import BuildScriptError
from tilewright.scons.launch import BEGIN, END, check, command_of, outputs_of, through
from tilewright.scons.launched import main
from tilewright.scons.step import KINDS, Step, function_of

STEP = Step("link", ("in/a.ltoir",), ("out/a b.cubin",), ("../far.cuh",), {"arch": "sm_90"}, {})
MADE = "out/.a b.cubin.launched/a b.cubin"


def launched(top: Path, script: str, step: Step = STEP) -> tuple[bytes, ...]:
    """The outputs of a step whose launcher is a script of the shell, which gets the command as its arguments."""
    path = top / "launcher.sh"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return through("./launcher.sh --fast", step, _node(top, step), top).contents


def _node(top: Path, step: Step) -> File:
    node: File = FS(str(top)).File(step.targets[0])
    return node


def test_every_kind_of_step_has_a_function() -> None:
    assert all(callable(function_of(kind)) for kind in KINDS)


def test_the_command_names_inputs_and_outputs_and_so_do_the_variables(tmp_path: Path) -> None:
    command = command_of("run 'a b' -x", STEP)
    assert command[:7] == ["run", "a b", "-x", sys.executable, "-P", "-m", "tilewright.scons.launched"]
    assert command[7:11] == ["link", "--source=in/a.ltoir", "--needed=../far.cuh", "--target=out/a b.cubin"]
    assert outputs_of(STEP) == (MADE,)
    script = """\
printf '%s\\n--\\n%s\\n--\\n' "$TILEWRIGHT_INPUTS" "$TILEWRIGHT_OUTPUTS" >"$TILEWRIGHT_OUTPUTS"
exec >>"$TILEWRIGHT_OUTPUTS"
printf '%s\\n' "$RECC_DEPS_OVERRIDE" "$RECC_OUTPUT_FILES_OVERRIDE" "$RECC_FORCE_REMOTE" "$1" "$PWD"
"""
    (data,) = launched(tmp_path, script)
    lines = ["in/a.ltoir", "../far.cuh", "--", MADE, "--", "in/a.ltoir,../far.cuh", MADE, "1", "--fast", str(tmp_path)]
    assert data.decode().splitlines() == lines
    assert list(tmp_path.rglob("*.launched")) == []


FAILURES = {
    "echo half; echo why >&2; exit 7": ("failed (exit status 7): `out/a b.cubin` is not made", "half", "why"),
    "kill -9 $$": ("failed (killed by SIGKILL)", "standard output: (nothing)", "standard error: (nothing)"),
    'echo 1 >"$TILEWRIGHT_OUTPUTS"; exit 1': ("failed (exit status 1)", "$ ./launcher.sh --fast", "(nothing)"),
    "echo fine": ("reported success and did not make `out/a b.cubin`", "standard output:\n    fine", "(nothing)"),
    f"printf '{BEGIN}\\nhalf of the errors' >&2; exit 3": ("failed (exit status 3)", "half of the errors", "--into="),
}


@pytest.mark.parametrize("script", FAILURES)
def test_a_launcher_that_fails_is_one_error_with_all_that_it_said(tmp_path: Path, script: str) -> None:
    """An output of an earlier run does not pass for what this one made, nor does one of a run that failed."""
    (tmp_path / MADE).parent.mkdir(parents=True)
    (tmp_path / MADE).write_bytes(b"of a run that was killed")
    with pytest.raises(BuildScriptError) as caught:
        launched(tmp_path, script)
    (problem,) = caught.value.problems
    assert problem.what.startswith("the launcher `./launcher.sh` ")
    assert all(words in str(problem) for words in FAILURES[script])
    assert list(tmp_path.rglob("*.launched")) == []


def test_one_output_of_two_that_is_missing_is_named_alone(tmp_path: Path) -> None:
    step = Step("shader", (), ("out/k.cu", "out/k.json"), (), {}, {})
    with pytest.raises(BuildScriptError, match=r"did not make `out/k\.json`"):
        launched(tmp_path, 'touch "$(echo "$TILEWRIGHT_OUTPUTS" | head -1)"', step)


def test_a_launcher_that_cannot_be_started_and_a_name_that_it_cannot_be_told_are_errors(tmp_path: Path) -> None:
    with pytest.raises(BuildScriptError, match=r"the launcher `\./gone` did not start"):
        through("./gone", STEP, _node(tmp_path, STEP), tmp_path)
    with pytest.raises(BuildScriptError, match="its name holds a line break"):
        launched(tmp_path, "true", Step("link", ("a\nb",), ("b.cubin",), (), {}, {}))


@pytest.mark.parametrize("stream", [1, 2])
def test_the_errors_of_a_step_are_shown_alone_and_what_else_was_said_beside_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stream: int
) -> None:
    """A launcher may lead standard error into standard output."""
    errors = f"{BEGIN}\\na.cu:1:2: error: wrong\\n{END}"
    script = f"echo warning; printf 'queued\\n{errors}\\nreturned\\n' >&{stream}; exit 1"
    with pytest.raises(BuildError) as caught:
        launched(tmp_path, script)
    assert caught.value.errstr == "a.cu:1:2: error: wrong"
    assert capsys.readouterr().out == "warning\nqueued\nreturned\n"


def test_a_step_that_was_tried_again_counts_when_all_is_there(tmp_path: Path) -> None:
    script = f"printf '{BEGIN}\\nno worker\\n{END}\\n' >&2; printf again >\"$TILEWRIGHT_OUTPUTS\""
    assert launched(tmp_path, script) == (b"again",)


def test_other_tools_than_those_of_the_build_are_refused_with_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tools = json.dumps({"TILELIB_LINK_SIG": "nvJitLink 1.2.3"})
    assert main(["link", "--source=a.ltoir", "--target=a.cubin", "--into=out", f"--tools={tools}"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{BEGIN}\nerror: the tools where the launcher runs `a.cubin` are not those of the build\n")
    assert "of the build: nvJitLink 1.2.3\n" in said
    assert "of the launched step: nvjitlink " in said.lower()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", ["./gone.sh --fast", "no-such-program-of-any-machine"])
def test_a_launcher_that_is_not_there_is_refused_while_scripts_are_read(tmp_path: Path, words: str) -> None:
    with pytest.raises(BuildScriptError) as caught:
        check(words, tmp_path)
    assert f"there is no program `{shlex.split(words)[0]}`" in str(caught.value)
    assert "hint: name one on PATH" in str(caught.value)


def test_a_launcher_with_a_slash_is_relative_to_the_top_folder(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "tools" / "run").chmod(0o755)
    check("tools/run -x", tmp_path)
    check("./tools/run", tmp_path)
