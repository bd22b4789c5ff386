"""Host programs from several checkouts: the same bytes, unless something in them has to name the folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from callers.program.test_compilation import TWO_LIBRARIES
from needed_tools import needs
from tilewright.callers.program.compilation import Program, compile_program
from tilewright.callers.program.staging import stable, staged
from tilewright.toolchain.toolkit import Toolkit

HEADER = "inline int answer() { return 7; }\n"


def checkout(folder: Path, libraries: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the caller and its libraries; the current folder from now on."""
    (folder / "lib").mkdir(parents=True)
    (folder / "inc").mkdir()
    for library in libraries:
        for file in (library, library.parent / f"{library.stem}_tile.h"):
            (folder / "lib" / file.name).write_bytes(file.read_bytes())
    (folder / "inc/answer.h").write_text(HEADER, encoding="utf-8")
    text = '#include "answer.h"\n' + TWO_LIBRARIES.replace("return 7;", "return answer();")
    (folder / "caller.cu").write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def program(libraries: tuple[Path, ...], *options: str) -> Program:
    own = tuple(Path("lib", library.name) for library in libraries)
    return Program(Path("caller.cu"), own, "sm_90", False, (Path("inc"), Path("lib")), options)


@needs("g++")
def test_two_checkouts_give_the_same_program_and_it_runs(
    relu: Path, twice: Path, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for name in ("one", "another/and deeper"):
        folder = checkout(tmp_path / name, (relu, twice), monkeypatch)
        compiled = compile_program(program((relu, twice)), toolkit)
        assert folder / "inc/answer.h" in compiled.read
        made.append(compiled.data)
    assert made[0] == made[1]
    file = tmp_path / "caller"
    file.write_bytes(made[0])
    file.chmod(0o755)
    assert subprocess.run([file], check=False).returncode == 7
    assert not [entry for entry in (toolkit.cache / "programs").iterdir() if entry.is_dir()]


@needs("g++")
def test_debug_information_names_the_folder_of_the_sources(
    relu: Path, twice: Path, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkout(tmp_path / "debugged", (relu, twice), monkeypatch)
    data = compile_program(program((relu, twice), "-Xcompiler", "-g"), toolkit).data
    assert os.fsencode(folder) in data


@pytest.mark.parametrize("option", ["-I../inc", "-L..", "-include=../a.h", "-G", "-lineinfo", "-Xcompiler=-g3", "-g"])
def test_what_leads_out_of_the_folder_or_names_it_is_not_moved(option: str) -> None:
    assert not stable(["nvcc", option, "caller.cu"], {})
    assert not stable(["nvcc", "caller.cu"], {"NVCC_APPEND_FLAGS": f"-O2 {option}"})


@pytest.mark.parametrize("option", ["-Iinc", "-gencode=arch=compute_90", "-DX=a..b", "-lgomp", "-Xcompiler=-O2"])
def test_other_options_do_not_matter(option: str) -> None:
    assert stable(["nvcc", option, "caller.cu"], {"NVCC_APPEND_FLAGS": option})


def test_what_a_killed_run_left_is_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("caller.cu").write_text("", encoding="utf-8")
    with staged(["caller.cu"], tmp_path / "cache") as first:
        pass
    (first / "old").mkdir(parents=True)
    with staged(["caller.cu"], tmp_path / "cache") as again:
        assert again == first
        assert sorted(entry.name for entry in again.iterdir()) == ["cache", "caller.cu"]
    assert not again.exists()
    assert Path("caller.cu").is_file()
