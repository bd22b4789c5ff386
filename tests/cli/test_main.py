"""The command itself: help, spelling, exit codes, and what a user sees of our own bugs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Run
from tilewright import __version__
from tilewright.cli import VERBS

COMMANDS = ", ".join(VERBS)

TOOLS = str(Path(__file__).parents[2] / "tools")
HEAVY = ("llvmlite", "cuda", "jinja2", "numpy", "tree_sitter", "msgspec", "SCons")


def python(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": TOOLS, **changes}
    return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)


def test_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"tilewright {__version__}\n", "")


def test_help_lists_every_command(run: Run) -> None:
    outcome = run("--help")
    assert outcome.code == 0
    for name, sentence in VERBS.items():
        assert f"  {name:<14} {sentence}\n" in outcome.out
    assert run("-h") == outcome


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help_with_an_example_of_itself(run: Run, verb: str) -> None:
    outcome = run(verb, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"usage: tilewright {verb}")
    assert f"\nexample:\n  tilewright {verb} " in outcome.out
    assert run(verb, "-h") == outcome


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), f"error: no command given\n  hint: one of {COMMANDS}; see tilewright --help\n"),
        (("biuld", "x.cu"), "error: unknown command `biuld`\n  hint: did you mean `build`?\n"),
        (
            ("frobnicate",),
            f"error: unknown command `frobnicate`\n  hint: one of {COMMANDS}; see tilewright --help\n",
        ),
        (("--versoin",), "error: unknown option `--versoin`\n  hint: did you mean `--version`?\n"),
        (
            ("build", "x.cu", "--arhc=sm_90", "--pirnt"),
            "error: unknown option `--arhc`\n  hint: did you mean `--arch`?\n"
            "error: unknown option `--pirnt`\n  hint: did you mean `--print`?\n",
        ),
        (
            ("build", "x.cu", "--arch", "sm_90", "--libary-optional"),
            "error: unknown option `--libary-optional`\n  hint: did you mean `--library-optional`?\n",
        ),
        (
            ("doctor", "--xyzzy"),
            "error: unknown option `--xyzzy`\n  hint: `tilewright doctor --help` lists the options\n",
        ),
        (("doctor", "x"), "error: unexpected argument `x`\n  hint: example: tilewright doctor --json\n"),
        (
            ("build", "--arch", "sm_90"),
            "error: `tilewright build` needs a FILE\n  hint: tilewright build relu.cu --arch sm_120 --print\n",
        ),
        (
            ("build", "x.cu", "--arch"),
            "error: argument --arch: expected one argument\n  hint: `tilewright build --help` lists the options\n",
        ),
    ],
)
def test_a_usage_error_is_text_on_stderr_and_exits_1(run: Run, words: tuple[str, ...], expected: str) -> None:
    assert run(*words) == (1, "", expected)


def test_an_abbreviated_option_is_not_guessed(run: Run) -> None:
    assert "unknown option `--prin`" in run("build", "x.cu", "--arch", "sm_90", "--prin").err


def test_a_bug_is_one_line_and_a_traceback_only_when_asked_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(options: object) -> int:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("tilewright.cli.doctor.run", broken)
    short = (
        "error: bug in tilewright: ZeroDivisionError: oh\n"
        "  hint: report it with the output of the same command and --verbose\n"
    )
    assert run("doctor") == (1, "", short)
    outcome = run("doctor", "--verbose")
    assert outcome.code == 1
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.err.endswith(short)


def test_an_interrupt_exits_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("tilewright.cli.doctor.run", interrupted)
    assert run("doctor") == (130, "", "interrupted\n")


def test_the_module_runs_as_a_program() -> None:
    done = python("-m", "tilewright", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tilewright {__version__}\n", "")
    assert python("-m", "tilewright", "nonsense").returncode == 1


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tilewright.cli import main; code = main(sys.argv[1:]);"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]; print(loaded, file=sys.stderr); sys.exit(code)"
    )
    for words in (
        ["--help"],
        ["build", "--help"],
        ["dump", str(Path(__file__).parents[1] / "golden/relu.iface.tilebc")],
    ):
        done = python("-c", code, *words)
        assert (done.returncode, done.stderr) == (0, "[]\n")


def test_an_encoding_without_a_character_does_not_fail_the_command(tmp_path: Path) -> None:
    file = tmp_path / "h\u00fc.tilebc"
    done = python("-m", "tilewright", "dump", str(file), PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    assert "h\\xfc.tilebc" in done.stderr


def test_a_reader_that_leaves_early_is_no_bug() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": TOOLS}
    command = [sys.executable, "-m", "tilewright", "--help"]
    done = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
