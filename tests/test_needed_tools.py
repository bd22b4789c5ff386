"""A missing program skips a test at home and fails it in CI."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from checks import ROOT
from needed_tools import INSIDE, REQUIRE_ALL, needed, needs


def test_a_missing_program_skips_unless_every_tool_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REQUIRE_ALL, raising=False)
    assert needs("no-such-program").args == (True,)
    assert needs("sh").args == (False,)
    monkeypatch.setenv(REQUIRE_ALL, "1")
    assert needs("no-such-program").args == (False,)


def test_a_missing_program_of_a_fixture_skips_or_fails_in_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    assert needed("sh").name == "sh"
    monkeypatch.delenv(REQUIRE_ALL, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        needed("no-such-program")
    monkeypatch.setenv(REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match="no-such-program is not installed"):
        needed("no-such-program")


def test_a_program_inside_of_a_package_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "package_with_program/bin/program-of-package"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setitem(INSIDE, program.name, ("package_with_program", "bin"))
    monkeypatch.setenv(REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match="program-of-package is not installed"):
        needed(program.name)
    monkeypatch.syspath_prepend(tmp_path)
    assert needed(program.name) == program


TOOLS = (
    *("cmake", "pkg-config", "openssl", "nginx", "valgrind"),
    *("clang++-19", "llvm-symbolizer-19", "spirv-cross", "glslangValidator"),
)


class Machine:
    """A machine on which CI runs: the script in a checkout of its own, a PATH of stand-ins that tell their calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".ci").mkdir()
        (folder / "bin").mkdir()
        shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
        self.program(folder / "sconsw", f'echo "sconsw $@ with every tool: ${REQUIRE_ALL}"')
        for name in ("bash", "sh", "dirname", "sed", "sort"):
            (folder / "bin" / name).symlink_to(str(shutil.which(name)))
        for name in ("g++", "make", *TOOLS):
            self.program(folder / "bin" / name)
        self.program(folder / "bin/apt-get", 'echo "apt-get $@"')

    def program(self, file: Path, text: str = "") -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        file.chmod(0o755)

    def run(self) -> tuple[int, str]:
        environment = {"PATH": str(self.folder / "bin"), "HOME": str(self.folder)}
        command = [self.folder / ".ci/run"]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return done.returncode, done.stdout


ALL_RUN = "sconsw test with every tool: 1\n"


def test_ci_requires_every_tool_and_finds_the_rust_of_rustup(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name in ("rustc", "cargo"):
        machine.program(tmp_path / ".cargo/bin" / name)
    assert machine.run() == (0, ALL_RUN)


def test_ci_installs_the_packages_of_the_programs_that_are_missing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for name in ("rustc", "cargo"):
        machine.program(tmp_path / ".cargo/bin" / name)
    for name in TOOLS[1:]:
        (tmp_path / "bin" / name).unlink()
    packages = "pkg-config openssl nginx-light valgrind clang-19 libclang-rt-19-dev llvm-19 spirv-cross glslang-tools"
    install = f"apt-get update -qq\napt-get install -y -qq --no-install-recommends {packages}\n"
    assert machine.run() == (0, install + ALL_RUN)


@pytest.mark.parametrize("offered", ["1.63.0+dfsg1-2", "1.84.1", "(none)"])
def test_ci_says_that_rust_is_missing_where_debian_offers_an_old_one(tmp_path: Path, offered: str) -> None:
    machine = Machine(tmp_path)
    machine.program(tmp_path / "bin/apt-cache", f"printf 'rustc:\\n  Candidate: {offered}\\n'")
    version = offered if offered[0].isdigit() else "in no version"
    assert machine.run() == (
        1,
        "apt-get update -qq\n"
        f".ci/run: rustc or cargo is missing, and apt-get offers rustc {version}\n"
        ".ci/run: install Rust 1.85 or newer with rustup, https://rustup.rs, and run this again\n",
    )


def test_ci_installs_rust_where_debian_offers_a_new_one(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.program(tmp_path / "bin/apt-cache", "printf 'rustc:\\n  Candidate: 1.85.0+dfsg3-1\\n'")
    install = "apt-get install -y -qq --no-install-recommends rustc cargo\n"
    assert machine.run() == (0, f"apt-get update -qq\n{install}{ALL_RUN}")


def test_ci_wants_the_rust_that_the_front_end_wants() -> None:
    from tilewright.sources.rust.rustc import NEEDED, dotted

    assert f"\nneeded={dotted(NEEDED[:2])}\n" in (ROOT / ".ci/run").read_text(encoding="utf-8")
