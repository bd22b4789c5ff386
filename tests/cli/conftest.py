"""The example of the specification as a project, and how to run the command in it."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tilewright.cli import main

NINJA = shutil.which("ninja", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
"""The wheel's ninja, or one on PATH."""

SOURCE = """\
#include "lanes.cuh"

/// Elementwise max(x, 0).
[[tile_export(tile_shape = 128)]] __device__ float relu(float x) { return x > 0.f ? x : 0.f; }

[[tile_export(tile_shape = 128, name = "scale_in_place", symbol = "scale_in_place_impl")]]
__device__ void scale(float& x, float factor) { x *= factor; }

[[tile_export(tile_shape = 128, sync = "warp")]] __device__ float warp_sum(float x) {
    for (int offset = lanes / 2; offset; offset >>= 1) x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}
"""


class Outcome(NamedTuple):
    """What a command returned and printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: `tilelib_relu.cu` and the header it includes."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "tilelib_relu.cu").write_text(SOURCE)
    (folder / "lanes.cuh").write_text("#pragma once\nconstexpr int lanes = 32;\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`main` with these words, and what it printed."""

    def call(*words: str) -> Outcome:
        capsys.readouterr()
        code = main(list(words))
        return Outcome(code, *capsys.readouterr())

    return call


@pytest.fixture
def old_assembler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tileiras that lists bytecode versions up to 13.4, named by CUTILE_TILEIRAS_PATH."""
    script = tmp_path / "tileiras"
    script.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        '--version) echo "Cuda compilation tools, release 13.4, V13.4.9";;\n'
        r'--list-versions) printf "13.1\n13.2\n13.3\n13.4\n";;' + "\n"
        r'--help) printf "  --gpu-name=<value>\n    =sm_90\n    =sm_120\n";;' + "\n"
        "*) exit 9;;\n"
        "esac\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CUTILE_TILEIRAS_PATH", str(script))
    return script


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its relative name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
