"""`tilewright run` of a Metal shader: on a stand-in for a Mac ("MSL, CPU-emulated"), and where there is none."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Run
from lowering.metal.conftest import clang as clang  # a fixture
from runtime.conftest import builder as builder
from runtime.conftest import mac as mac
from runtime.conftest import mac_of as mac_of
from runtime.standin_machine import Mac

KERNEL = """\
from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def scale(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", 16)
    for p in tile.parallel(tile.cdiv(x.shape[0], 16)):
        y[p.index() * 16, e] = x[p.index() * 16, e] * 2.0
"""


@pytest.fixture
def shader(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scale.py").write_text(KERNEL)
    outcome = run("compile", "scale.py", "--backend", "metal", "--set", "x=(100,)", "--set", "y=(100,)")
    assert outcome.code == 0, outcome.err
    x = np.arange(100, dtype=np.float32)
    np.save("x.npy", x)
    np.save("y.npy", 2 * x)
    return Path("build/metal/scale.json")


ARGUMENTS = ("--arg", "x.npy", "--arg", "f32[100]=zeros,compare=y.npy")


@pytest.mark.skipif(platform.system() == "Darwin", reason="this is macOS")
def test_it_says_why_a_metal_shader_cannot_run_here(run: Run, shader: Path) -> None:
    outcome = run("run", "--shader", str(shader), *ARGUMENTS)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        f"error: Metal shaders run on macOS only, and this is {platform.system()} [no-macos]\n"
        "  hint: on a Mac: pip install 'scons-tilelib[metal]'\n"
    )


def test_it_launches_a_metal_shader_on_a_mac(mac: Mac, run: Run, shader: Path) -> None:
    outcome = run("run", "--shader", str(shader), *ARGUMENTS, "--verbose")
    assert (outcome.code, outcome.out) == (0, "PASS scale: 100 elements of argument 1, equal in every bit\n"), outcome
    assert outcome.err.startswith("note: stand-in (Apple7, macOS 26), metal reference")


def test_arguments_that_do_not_fit_are_refused(mac: Mac, run: Run, shader: Path) -> None:
    outcome = run("run", "--shader", str(shader), "--arg", "x.npy", "--arg", "f32[99]=zeros")
    assert outcome.code == 1
    assert "argument 1 `y` has a size of 396 bytes, needs 400 [argument-size]" in outcome.err
