"""The contents of a small package: one real library for two architectures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from library.samples import DEVICE_CODE, THREE
from tilewright.bytecode.modules import modules_of
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.description import write_description
from tilewright.library.static import pack
from tilewright.packages.assembly import Artifact, write_package
from tilewright.packages.naming import PackageSpec
from tilewright.toolchain.toolkit import Toolkit

TOOLS = {"nvrtc": "nvrtc 13.5.37"}


@pytest.fixture(scope="session")
def artifacts(toolkit: Toolkit) -> list[Artifact]:
    """Library, interface, description and a licence text."""
    with Workers(1) as workers:
        ltoir = make_ltoir(
            DeviceModule("cuda", DEVICE_CODE, "three.cu"), THREE, arch="compute_90", toolkit=toolkit, workers=workers
        )
    modules = modules_of(THREE, version=toolkit.bytecode_version())
    library = pack(modules.interface, modules.implementation, ltoir, stem="three", toolkit=toolkit)
    return [
        Artifact("lib/tilelib/sm_120/three.tilelib", library, "build/sm_120/three.tilelib"),
        Artifact("lib/tilelib/sm_90/three.tilelib", library, "build/sm_90/three.tilelib"),
        Artifact("share/tilelib/three.iface.tilebc", modules.interface, "build/sm_90/three.iface.tilebc"),
        Artifact(
            "share/tilelib/three.tileexports.json", write_description(THREE), "build/sm_90/three.tileexports.json"
        ),
        Artifact("licenses/LICENSE", b"a licence\n", "LICENSE"),
    ]


@pytest.fixture(scope="session")
def package(artifacts: list[Artifact]) -> Callable[[str], bytes]:
    """The package `three` 1.0 in a format."""
    spec = PackageSpec("three", "1.0", ("zip", "tar.gz", "wheel"), "Apache-2.0")
    made = write_package(spec, artifacts, TOOLS)
    return lambda format: made[spec.file_name(format)]
