"""Tiny toolkits made of shell scripts and empty libraries, one situation each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

MakeRoot = Callable[..., Path]

HELP = """OPTIONS:
  --gpu-name=<value>    - Specify name of NVIDIA GPU to generate code for.
    =sm_80              -   SM 80
    =sm_90              -   SM 90
    =sm_120             -   SM 120
  --host-arch=<value>   - Specify the architecture; sm_999 is not one.
    =x86_64             -   x86_64
"""


def script(file: Path, text: str) -> Path:
    """An executable shell script; each call adds its first argument to the file `asked` beside the `bin` folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\necho "${{0##*/}} $1" >> "${{0%/*}}/../asked"\n{text}\n')
    file.chmod(0o755)
    return file


def assembler_script(newest: str, *, build: str = "fake.1_", lists: str | None = None) -> str:
    """A tileiras of release `newest` that lists every version up to it."""
    major, minor = newest.split(".")
    versions = [f"{major}.{number}" for number in range(1, int(minor) + 1)] if lists is None else [lists]
    return "\n".join(
        [
            'case "$1" in',
            f'--version) echo "Cuda compilation tools, release {newest}, V{newest}.20"; echo "Build {build}";;',
            f"--list-versions) printf '%s\\n' {' '.join(versions)};;",
            f"--help) cat <<'END'\n{HELP}END\n;;",
            "*) exit 1;;",
            "esac",
        ]
    )


def tool_script(version: str) -> str:
    """A tool that knows only its version."""
    release = ".".join(version.split(".")[:2])
    return f'echo "Cuda compilation tools, release {release}, V{version}"'


@pytest.fixture
def make_root(tmp_path: Path) -> MakeRoot:
    """make_root(folder, assembler="13.5", nvcc="13.5.20", nvrtc="13.5.20", ...): a root below tmp_path.

    Programs answer with the given version; libraries have it in their file name.
    """

    def make(folder: str, *, assembler: str | None = None, tileiras: str = "", **versions: str) -> Path:
        root = tmp_path / folder
        (root / "bin").mkdir(parents=True)
        if assembler or tileiras:
            script(root / "bin/tileiras", tileiras or assembler_script(str(assembler)))
        names = {"nvcc": "nvcc", "disassembler": "tileirdisasm", "ptxas": "ptxas", "nvdisasm": "nvdisasm"}
        libraries = {"nvrtc": "libnvrtc", "nvjitlink": "libnvJitLink"}
        for name, version in versions.items():
            if name in names:
                script(root / "bin" / names[name], tool_script(version))
            else:
                file = root / "lib64" / f"{libraries[name]}.so.{version}"
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(b"not loaded")
                if version != "13":
                    file.with_name(f"{libraries[name]}.so.13").symlink_to(file.name)
        return root

    return make


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    """An environment with a cache of its own; the scripts need the system's folders, which hold no toolkit."""
    system = tmp_path / "system"
    system.mkdir()
    for name in ("cat", "sleep", "yes", "sh"):
        (system / name).symlink_to(str(shutil.which(name)))
    return {"TILEWRIGHT_CACHE": str(tmp_path / "cache"), "PATH": str(system)}
