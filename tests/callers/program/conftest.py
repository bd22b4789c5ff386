"""Libraries and callers that the tests of programs put together."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.bytecode.modules import modules_of
from tilewright.cli import main
from tilewright.device import nvrtc
from tilewright.device.module import DeviceModule
from tilewright.exports.description import read_description
from tilewright.library.static import pack
from tilewright.toolchain.toolkit import Toolkit

Build = Callable[..., Path]

RELU = "[[tile_export(tile_shape = 128{more})]] __device__ float relu(float x) {{ return x > 0.0f ? x : 0.0f; }}\n"
RELU_ANY = "[[tile_export]] __device__ float relu_any(float x) { return x > 0.0f ? x : 0.0f; }\n"
TWICE = "[[tile_export(tile_shape = 128)]] __device__ void twice(float& x) { x += x; }\n"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds a library from its name and source; gives the path of the .tilelib, the bindings lie beside it."""

    def build(name: str, source: str, arch: str = "sm_90") -> Path:
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.cu").write_text(source, encoding="utf-8")
        made = folder / f"{name}.tilelib"
        assert main(["build", str(folder / f"{name}.cu"), "--arch", arch, "-o", str(made)]) == 0
        assert main(["bindings", str(folder / f"{name}.tileexports.json")]) == 0
        return made

    return build


@pytest.fixture(scope="session")
def relu(built: Build) -> Path:
    """A library with `relu` for tiles of 128 floats."""
    return built("relus", RELU.format(more=""))


@pytest.fixture(scope="session")
def twice(built: Build) -> Path:
    """A library with `twice`, which updates its tile."""
    return built("twices", TWICE)


@pytest.fixture(scope="session")
def repacked(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """A library of an existing description around other device code, which no check of ours has seen."""

    def repack(library: Path, device_code: str) -> Path:
        exports = read_description(library.with_suffix(".tileexports.json"))
        modules = modules_of(exports, version=toolkit.bytecode_version())
        here = Path.cwd()
        os.chdir("/")
        try:
            module = DeviceModule("cuda", device_code, "code.cu")
            compiler = str(toolkit.require("nvrtc").path)
            ltoir = nvrtc.compile_cuda(module, "sm_90", compiler, toolkit.include).ltoir
        finally:
            os.chdir(here)
        made = tmp_path_factory.mktemp("repacked") / library.name
        made.write_bytes(pack(modules.interface, modules.implementation, ltoir, stem=library.stem, toolkit=toolkit))
        return made

    return repack
