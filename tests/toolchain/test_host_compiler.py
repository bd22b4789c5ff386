"""Whether nvcc would find a compiler of the host, and what is said when it would not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.toolchain.host_compiler import host_compiler_identity, missing_host_compiler


def installed(folder: Path, *programs: str) -> dict[str, str]:
    """The PATH of a machine with these programs, which print their names as their version."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in programs:
        (folder / name).write_text(f"#!/bin/sh\necho '{name} 1.2'\necho more\n")
        (folder / name).chmod(0o755)
    return {"PATH": str(folder)}


@pytest.mark.parametrize(
    ("programs", "what"),
    [((), "no gcc and no g++"), (("gcc",), "no g++"), (("g++",), "no gcc")],
)
def test_what_is_not_on_the_path_is_named(tmp_path: Path, programs: tuple[str, ...], what: str) -> None:
    problem = missing_host_compiler(installed(tmp_path, *programs))
    assert problem is not None
    assert problem.what == f"nvcc has no host compiler: there is {what} on PATH"
    assert problem.hint.startswith("install gcc and g++")


def test_a_gcc_is_enough_and_clang_has_to_be_named(tmp_path: Path) -> None:
    assert missing_host_compiler(installed(tmp_path / "both", "gcc", "g++")) is None
    clang = installed(tmp_path / "clang", "clang")
    problem = missing_host_compiler(clang)
    assert problem is not None
    assert problem.hint == f"export NVCC_CCBIN={tmp_path}/clang/clang"
    assert missing_host_compiler({**clang, "NVCC_CCBIN": "clang"}) is None
    assert missing_host_compiler({**clang, "NVCC_CCBIN": str(tmp_path / "clang")}) is None, "nvcc takes folders too"


def test_a_named_compiler_has_to_be_there(tmp_path: Path) -> None:
    problem = missing_host_compiler({**installed(tmp_path, "gcc", "g++"), "NVCC_CCBIN": "gcc-99"})
    assert problem is not None
    assert "NVCC_CCBIN names `gcc-99`, which is not a program" in problem.what


@pytest.mark.parametrize("flag", ["-ccbin clang", "-ccbin=clang", "--compiler-bindir=clang"])
def test_a_compiler_named_in_the_options_is_left_to_nvcc(tmp_path: Path, flag: str) -> None:
    none = installed(tmp_path)
    assert missing_host_compiler(none, flag.split()) is None
    assert missing_host_compiler({**none, "NVCC_APPEND_FLAGS": flag}) is None


def test_the_identity_is_the_first_line_of_the_version(tmp_path: Path) -> None:
    both = installed(tmp_path / "bin", "gcc", "g++")
    cache = tmp_path / "cache"
    assert host_compiler_identity(both, cache) == "g++ 1.2"
    assert host_compiler_identity({**both, "NVCC_CCBIN": "gcc"}, cache) == "gcc 1.2"
    assert host_compiler_identity({"PATH": str(tmp_path)}, cache) == "no host compiler"
    (tmp_path / "bin" / "g++").write_text("#!/bin/sh\nexit 1\n")
    assert host_compiler_identity(both, cache) == "a host compiler that does not answer"
