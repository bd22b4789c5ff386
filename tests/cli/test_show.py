"""`inspect`, `dump` and `doctor`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import Run
from tilewright.toolchain.shadow import shadow_root
from tilewright.toolchain.toolkit import Toolkit

GOLDEN = Path(__file__).parents[1] / "golden"


def test_dump_shows_a_module_under_its_files_name(run: Run) -> None:
    outcome = run("dump", str(GOLDEN / "relu.iface.tilebc"))
    assert outcome == (
        0,
        "cuda_tile.module @relu {\n"
        "  cuda_tile.preview$func extern @relu("
        "%arg0: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<in>}, "
        "%arg1: !cuda_tile.tile<128xf32> {cuda_tile.preview$access = #cuda_tile.preview$access<out>})"
        " -> !cuda_tile.tile<128xf32>\n"
        "}\n",
        "",
    )


def test_dump_takes_another_name(run: Run) -> None:
    outcome = run("dump", str(GOLDEN / "relu.impl.tilebc"), "--name", "other")
    assert outcome.out.startswith("cuda_tile.module @other {\n  cuda_tile.preview$extern_impl @relu_impl implements")


def test_dump_of_a_truncated_file_is_an_error_with_a_place(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "cut.tilebc"
    file.write_bytes((GOLDEN / "relu.iface.tilebc").read_bytes()[:60])
    outcome = run("dump", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"{file}:byte ")


def test_inspect_shows_a_built_library(project: Path, run: Run) -> None:
    assert run("build", "tilelib_relu.cu", "--arch", "sm_120").code == 0
    library = "build/sm_120/tilelib_relu/tilelib_relu.tilelib"
    outcome = run("inspect", library)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("tilelib_relu: static tile library, Tile IR 13.5, packed for ")
    assert "  @warp_sum_impl implements @warp_sum: called by a whole warp, every architecture\n" in outcome.out
    assert "made for compute_120" in outcome.out
    record = json.loads(run("inspect", "--json", library).out)
    assert record["payload"]["ltoir_arch"] == "compute_120"
    assert record["payload"]["size"] == (project / library).with_suffix(".ltoir").stat().st_size


@pytest.mark.parametrize("command", ["inspect", "dump"])
def test_files_that_cannot_be_read_are_one_error(run: Run, command: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.ltoir"
    said = f"error: cannot read `{missing}`: No such file or directory\n  hint: "
    assert run(command, str(missing)) == (1, "", f"{said}create it, or name another file\n")
    (tmp_path / "misssing.ltoir").touch()
    assert run(command, str(missing)) == (1, "", f"{said}did you mean `{tmp_path}/misssing.ltoir`?\n")
    said = f"error: cannot read `{tmp_path}`: it is not a regular file\n"
    assert run(command, str(tmp_path)) == (1, "", f"{said}  hint: name a file\n")
    assert "  hint: make it a readable file" in run(command, "a\0b").err


def test_inspect_of_something_else_is_one_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "x.tilelib"
    file.write_text("hello")
    expected = f"{file}: error: this is not a tile library: it does not start with an ELF header\n"
    expected += "  hint: name a .tilelib file, as `tilewright build` writes it\n"
    assert run("inspect", str(file)) == (1, "", expected)


def test_doctor_names_the_toolkit_and_what_is_wrong(
    run: Run, toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = run("doctor")
    assert str(toolkit.root) in outcome.out
    assert json.loads(run("doctor", "--json").out)["can_pack"] is True
    monkeypatch.setattr("tilewright.toolchain.toolkit.resolve", lambda environ: replace(toolkit, nvrtc=None))
    outcome = run("doctor")
    assert outcome.code == 1
    assert "NVRTC is missing" in outcome.out


def test_doctor_names_the_nvcc_to_run_for_other_build_systems(
    run: Run, toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("doctor", "--nvcc") == (0, f"{shadow_root(toolkit)}/bin/nvcc\n", "")
    monkeypatch.setattr("tilewright.toolchain.toolkit.resolve", lambda environ: replace(toolkit, nvcc=None))
    without = run("doctor", "--nvcc")
    assert (without.code, without.out) == (1, "")
    assert "nvcc is missing" in without.err


def test_doctor_names_rustc_and_clang_although_they_are_in_no_toolkit(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"rustc": "rustc 1.90.0 (x)\nrelease: 1.90.0\nLLVM version: 20.1.8", "clang++-19": "clang version 19.1.7"}
    for name, answer in answers.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{answer}\nEND\n")
        program.chmod(0o755)
    for variable in ("RUSTC", "TILEWRIGHT_CLANG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    others = json.loads(run("doctor", "--json").out)["others"]
    assert [(row["name"], row["version"], row["path"]) for row in others] == [
        ("rustc", "1.90.0", str(tmp_path / "rustc")),
        ("clang", "19", str(tmp_path / "clang++-19")),
    ]
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    text = run("doctor").out
    assert "not found (compiles Rust sources, 1.85.0 or newer)" in text
    assert "not found (runs `check-metal`, 16 or newer)" in text
