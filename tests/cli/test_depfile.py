"""Paths in a depfile come back out of Make and Ninja as they were."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cli.conftest import NINJA
from needed_tools import needs
from tilewright.cli.arguments import UsageError
from tilewright.cli.depfile import UNWRITABLE, escaped, make_rule

NAMES = [
    "plain.cu",
    "two words.cu",
    "hash#.cu",
    "dollar$HOME.cu",
    "back\\slash.cu",
    "back\\ space.cu",
    "colon:1.cu",
    "percent%,~.cuh",
]


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("a.cu", "a.cu"),
        ("a b", "a\\ b"),
        ("a#b", "a\\#b"),
        ("a$b", "a$$b"),
        ("a\\b", "a\\b"),
        ("a\\ b", "a\\\\\\ b"),
        ("a:b", "a\\:b"),
        ("ü.cu", "ü.cu"),
    ],
)
def test_special_characters_are_escaped(path: str, written: str) -> None:
    assert escaped(path) == written


def test_several_targets_share_one_rule() -> None:
    assert make_rule(["a", "b"], ["s"]) == "a b: \\\n  s\n\ns:\n"


@pytest.mark.parametrize("character", sorted(UNWRITABLE))
def test_a_path_that_no_rule_can_hold_is_refused(character: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_rule(["a", f"b{character}"], ["c", f"d{character}"])
    expected = f"Make or Ninja reads {character!r} otherwise"
    assert [problem.what for problem in caught.value.problems] == [
        f"a depfile cannot hold the path {path!r}: {expected}" for path in (f"b{character}", f"d{character}")
    ]
    assert {problem.hint for problem in caught.value.problems} == {
        "give the file a name without it, or leave --depfile out"
    }


def test_a_percent_sign_is_refused_in_targets_only() -> None:
    assert make_rule(["a"], ["b%"]) == "a: \\\n  b%\n\nb%:\n"
    with pytest.raises(UsageError, match="reads '%' otherwise"):
        make_rule(["a%"], ["b"])


def later(path: Path, than: Path) -> None:
    """Give `path` a time stamp a second after that of `than`."""
    stamp = than.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(stamp, stamp))


def output_of(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs("make")
@pytest.mark.parametrize("name", NAMES)
def test_make_follows_the_rule(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    (tmp_path / "out.d").write_text(make_rule(["out"], [name]))
    (tmp_path / "Makefile").write_text("all: out\nout: ; touch out\n-include out.d\n")
    output_of("make", folder=tmp_path)
    assert "Nothing to be done" in output_of("make", folder=tmp_path)
    later(tmp_path / name, tmp_path / "out")
    assert "touch out" in output_of("make", folder=tmp_path)


@needs("make")
def test_make_does_not_stop_at_a_deleted_header(tmp_path: Path) -> None:
    (tmp_path / "out.d").write_text(make_rule(["out"], ["gone.cuh"]))
    (tmp_path / "Makefile").write_text("all: out\nout: ; touch out\n-include out.d\n")
    assert "touch out" in output_of("make", folder=tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_ninja_follows_the_rule(tmp_path: Path, name: str) -> None:
    assert NINJA is not None, "the tests need the dev extra"
    for file in (name, "in"):
        (tmp_path / file).write_text("")
    (tmp_path / "rule").write_text(make_rule(["out"], [name]))
    (tmp_path / "build.ninja").write_text(
        "rule tilelib\n  command = touch out && cp rule out.d\n  depfile = out.d\nbuild out: tilelib in\n"
    )
    output_of(NINJA, folder=tmp_path)
    assert "no work to do" in output_of(NINJA, folder=tmp_path)
    later(tmp_path / name, tmp_path / "out")
    assert "touch out" in output_of(NINJA, folder=tmp_path)
