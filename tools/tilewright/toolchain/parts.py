"""The parts of a CUDA toolkit: where each lies in a root, which wheel brings it, how its version is told.

A root is a folder laid out as a toolkit: `/usr/local/cuda-13.5`, or the folder `nvidia/cu13` of the NVIDIA wheels.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.toolchain.answers import ask, remembered
from tilewright.toolchain.assembler import read_version
from tilewright.toolchain.error import ToolchainError

_LIBRARY_FOLDERS = ("lib64", "lib", "targets/*/lib")
_FULL_VERSION = re.compile(r"\.so\.(\d+\.\d+\.\d+)$")


def _libraries(name: str, *before: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}" for folder in (*before, *_LIBRARY_FOLDERS))


def _headers(name: str) -> tuple[str, ...]:
    """The places of a header that stands for the others of its wheel, or of their folder."""
    return (f"include/{name}", f"targets/*/include/{name}")


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name here, what people call it, what it does, its places below a root, its wheel, its key.

    `key` is that of `version.json`. `needed` holds for what every library needs, `answers` for a program that has
    `--version`, `borrowed` for one that another root may supply.
    """

    name: str
    title: str
    purpose: str
    places: tuple[str, ...]
    wheel: str
    key: str
    needed: bool = False
    answers: bool = False
    borrowed: bool = False


PARTS = (
    Part(
        name="assembler",
        title="tileiras",
        purpose="packs tile libraries and compiles tile kernels",
        places=("bin/tileiras",),
        wheel="nvidia-cuda-tileiras",
        key="cuda_tileiras",
        needed=True,
        answers=True,
    ),
    Part(
        name="nvcc",
        title="nvcc",
        purpose="compiles Tile C++ callers",
        places=("bin/nvcc",),
        wheel="nvidia-cuda-nvcc",
        key="cuda_nvcc",
        answers=True,
    ),
    Part(
        name="disassembler",
        title="tileirdisasm",
        purpose="checks declarations and implementations against each other",
        places=("bin/tileirdisasm",),
        wheel="nvidia-cuda-tileiras",
        key="cuda_tileiras",
        needed=True,
        answers=True,
        borrowed=True,
    ),
    Part(
        name="nvrtc",
        title="NVRTC",
        purpose="compiles CUDA C++ to LTOIR",
        places=_libraries("libnvrtc.so.[0-9]*"),
        wheel="nvidia-cuda-nvrtc",
        key="cuda_nvrtc",
        needed=True,
    ),
    Part(
        name="nvvm",
        title="libNVVM",
        purpose="compiles NVVM IR to LTOIR",
        places=_libraries("libnvvm.so.[0-9]*", "nvvm/lib64", "nvvm/lib"),
        wheel="nvidia-nvvm",
        key="libnvvm",
        needed=True,
    ),
    Part(
        name="libdevice",
        title="libdevice",
        purpose="holds the math functions",
        places=("nvvm/libdevice/libdevice.10.bc",),
        wheel="nvidia-nvvm",
        key="libnvvm",
        needed=True,
    ),
    Part(
        name="nvjitlink",
        title="nvJitLink",
        purpose="links device code and checks symbols",
        places=_libraries("libnvJitLink.so.[0-9]*"),
        wheel="nvidia-nvjitlink",
        key="libnvjitlink",
        needed=True,
    ),
    Part(
        name="ptxas",
        title="ptxas",
        purpose="assembles PTX",
        places=("bin/ptxas",),
        wheel="nvidia-cuda-nvcc",
        key="cuda_nvcc",
        answers=True,
    ),
    Part(
        name="nvdisasm",
        title="nvdisasm",
        purpose="shows machine code",
        places=("bin/nvdisasm",),
        wheel="nvidia-cuda-nvdisasm",
        key="cuda_nvdisasm",
        answers=True,
        borrowed=True,
    ),
    Part(
        name="cccl",
        title="CCCL",
        purpose="holds the headers of libcu++",
        places=_headers("cccl"),
        wheel="nvidia-cuda-cccl",
        key="cuda_cccl",
    ),
    Part(
        name="runtime",
        title="CUDA headers",
        purpose="hold the types and functions of CUDA C++",
        places=_headers("cuda_runtime.h"),
        wheel="nvidia-cuda-runtime",
        key="cuda_cudart",
    ),
    Part(
        name="crt",
        title="CRT headers",
        purpose="hold what CUDA C++ includes by itself",
        places=_headers("crt/host_config.h"),
        wheel="nvidia-cuda-crt",
        key="cuda_crt",
    ),
)
PART = {part.name: part for part in PARTS}


def find(part: Part, root: Path) -> Path | None:
    """The part's file in a root: of several versions of a library the newest, by its shortest name."""
    for place in part.places:
        if "*" not in place:
            path = root / place
            if path.exists():
                return path
            continue
        found = glob.glob(os.path.join(glob.escape(str(root)), place))
        if found:
            return Path(min(found, key=_newest_and_shortest))
    return None


def _newest_and_shortest(path: str) -> tuple[int, int, str]:
    major = re.search(r"\.so\.(\d+)", path)
    return (-int(major[1]) if major else 0, len(path), path)


def include_folders(root: Path) -> tuple[Path, ...]:
    """The folders for `-I`: the headers of the toolkit, then those of CCCL."""
    for place in ("include", "targets/*/include"):
        found = sorted(glob.glob(os.path.join(glob.escape(str(root)), place, "cuda*.h")))
        if found:
            folder = Path(found[0]).parent
            return tuple(path for path in (folder, folder / "cccl") if path.is_dir())
    return ()


@dataclass(frozen=True, slots=True)
class RootVersions:
    """What a root says about its versions without a tool being started: by wheel name, by `version.json` key."""

    wheels: Mapping[str, str]
    keys: Mapping[str, str]


def read_root_versions(root: Path) -> RootVersions:
    """Versions from the wheels' `*.dist-info` folders beside `nvidia/`, and from a toolkit's `version.json`."""
    wheels: dict[str, str] = {}
    if root.parent.name == "nvidia":
        try:
            names = os.listdir(root.parent.parent)
        except OSError:
            names = []
        for name in names:
            stem, dot, kind = name.rpartition(".")
            if dot and kind == "dist-info" and stem.lower().startswith("nvidia"):
                project, _, version = stem.rpartition("-")
                wheels[re.sub(r"[-_.]+", "-", project).lower()] = version
    keys: dict[str, str] = {}
    try:
        record = json.loads((root / "version.json").read_bytes())
        keys = {str(key): str(value["version"]) for key, value in record.items() if "version" in value}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        pass
    return RootVersions(wheels, keys)


def version_of(part: Part, path: Path, known: RootVersions, *, cache: Path, environ: Mapping[str, str]) -> str:
    """The part's version: from metadata, its file name, its own answer; when none tells, `sha256:` and a digest.

    A folder of headers without metadata has the version "unknown".
    """
    if told := known.wheels.get(part.wheel) or known.keys.get(part.key):
        return told
    if part.name != "nvvm" and (full := _FULL_VERSION.search(os.path.realpath(path))):
        return full[1]
    if path.is_dir():
        return "unknown"
    if part.answers:
        try:
            return read_version(ask(path, "--version", cache, environ), path)[0]
        except ToolchainError:
            return remembered(path, "sha256", cache, _digest(path))
    return remembered(path, "sha256", cache, _digest(path))


def _digest(path: Path) -> Callable[[], str]:
    def read() -> str:
        import hashlib

        with open(path, "rb") as stream:
            return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()[:12]

    return read
