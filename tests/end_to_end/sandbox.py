"""A small project, SCons as a subprocess in it, and what a run did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "relu.cu")
"""

RELU = """\
#include "limit.cuh"

/// Elementwise `max(x, 0)`.
[[tile_export(tile_shape = 128)]] __device__ float relu(float x) {
    return x > LIMIT ? x : 0.0f;
}
"""

LIMIT = "#define LIMIT 0.0f\n"

TEN = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
for number in range(10):
    SConscript(f"library{number}/SConscript", exports="env")
"""

DESCRIPTION = """\
{
  "schema": 1,
  "library": "plain",
  "exports": [
    {
      "name": "relu",
      "symbol": "relu_impl",
      "function": "relu",
      "tile_shape": 128,
      "sync": "none",
      "arch": [],
      "doc": "",
      "parameters": [
        {
          "name": "x",
          "element": "f32",
          "access": "in",
          "footprint": 1,
          "passing": "value",
          "return": false
        },
        {
          "name": "relu_out",
          "element": "f32",
          "access": "out",
          "footprint": 1,
          "passing": "pointer",
          "return": true
        }
      ]
    }
  ]
}
"""

OLD_ASSEMBLER = """\
#!/bin/sh
case "$1" in
--version) echo "tileiras: NVIDIA (R) Tile IR optimizing assembler"
           echo "Cuda compilation tools, release 13.4, V13.4.12"
           echo "Build cuda_13.4.r13.4/compiler.1_0" ;;
--list-versions) printf '13.1\\n13.2\\n13.3\\n13.4\\n' ;;
--help) echo "  --gpu-name=<value> - name"
        for arch in sm_90 sm_100 sm_120; do echo "    =$arch - target"; done ;;
*) echo "tileiras: error: unknown option $1" >&2; exit 1 ;;
esac
"""

_STEPS = (
    ("exports", re.compile(r"Reading tile exports of ")),
    ("oxide", re.compile(r"Running cargo oxide for ")),
    ("ltoir", re.compile(r"Compiling device code of ")),
    ("bytecode", re.compile(r"Writing Tile IR of ")),
    ("library", re.compile(r"\S*tileiras --preview-create-tile-lib ")),
    ("skip", re.compile(r"Tile library skipped: ")),
    ("bindings", re.compile(r"Writing bindings of ")),
    ("program", re.compile(r"Compiling tile program ")),
    ("verification", re.compile(r"Preparing the verification of ")),
    ("link", re.compile(r"Linking ")),
    ("capture", re.compile(r"Capturing ")),
    ("shader", re.compile(r"Compiling tile shader ")),
    ("check", re.compile(r"Checking ")),
    ("air", re.compile(r"Compiling MSL ")),
    ("metallib", re.compile(r"Making Metal library ")),
)


@dataclass(frozen=True)
class Run:
    """One finished SCons run."""

    code: int
    out: str
    err: str

    @property
    def steps(self) -> list[str]:
        """The kinds of the steps that ran, in order."""
        return [kind for line in self.out.splitlines() for kind, pattern in _STEPS if pattern.match(line)]

    @property
    def errors(self) -> list[str]:
        """The `scons: ***` messages, each with the lines that belong to it."""
        return [text.strip() for text in self.err.split("scons: *** ")[1:]]

    def rebuilt(self, *kinds: str) -> bool:
        """Whether the run succeeded and did exactly these kinds of step, each at least once."""
        assert self.code == 0, self
        return set(self.steps) == set(kinds)

    def up_to_date(self) -> bool:
        """Whether the run succeeded, did nothing and said so."""
        assert self.code == 0, self
        return not self.steps and "is up to date" in self.out


class Sandbox:
    """A project folder, and SCons in it."""

    def __init__(self, folder: Path, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        self.environ = {**environ, "PYTHONPATH": str(TOOLS)}
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, files: Mapping[str, str]) -> None:
        """Writes text files, with their folders."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def edit(self, name: str, old: str, new: str) -> None:
        """Replaces `old`, which must be there, in a file."""
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text
        self.write({name: text.replace(old, new)})

    def start(self, *arguments: str, at: str = ".", module: str = "SCons", **environ: str) -> subprocess.Popen[str]:
        """SCons, or another program of the environment, started in a folder of the project and not waited for."""
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=self.folder / at,
            env={**self.environ, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            start_new_session=True,
        )

    def scons(self, *arguments: str, at: str = ".", **environ: str) -> Run:
        """A whole SCons run."""
        return finished(self.start(*arguments, at=at, **environ))

    def tilewright(self, *arguments: str, **environ: str) -> Run:
        """One command of the command line."""
        return finished(self.start(*arguments, module="tilewright", **environ))

    def read(self, name: str) -> bytes:
        """A file's bytes."""
        return (self.folder / name).read_bytes()

    def tree(self, *parts: str) -> dict[str, bytes]:
        """Every file below a folder by name, SCons's own records left out."""
        top = self.folder.joinpath(*parts)
        files = (path for path in sorted(top.rglob("*")) if path.is_file() and not path.name.startswith(".sconsign"))
        return {path.relative_to(top).as_posix(): path.read_bytes() for path in files}

    def listing(self) -> dict[str, bytes]:
        """Everything below the project, folders too (their names end in `/`), SCons's own records left out."""
        folders = {f"{path.relative_to(self.folder).as_posix()}/": b"" for path in self.folder.rglob("*/")}
        return folders | self.tree()


def ten_libraries() -> dict[str, str]:
    """The files of a project with ten libraries, each in a folder of its own with a header of an equal name."""
    files = {"SConstruct": TEN}
    for number in range(10):
        files[f"library{number}/SConscript"] = f'Import("env")\nenv.TileLibrary("library{number}", "relu.cu")\n'
        files[f"library{number}/relu.cu"] = RELU
        files[f"library{number}/limit.cuh"] = f"#define LIMIT {number}.5f\n"
    return files


def finished(process: subprocess.Popen[str]) -> Run:
    """Waits for a started run."""
    out, err = process.communicate(timeout=120)
    return Run(process.returncode, out, err)
