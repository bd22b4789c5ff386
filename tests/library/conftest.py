"""The three exports of the specification with real LTOIR, packed by the real assembler, once a session."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from library.samples import DEVICE_CODE, THREE, Packed
from tilewright.bytecode.modules import modules_of
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.library.static import pack
from tilewright.toolchain.toolkit import Toolkit, resolve


@pytest.fixture(scope="session")
def ltoir(toolkit: Toolkit) -> bytes:
    """The LTOIR of relu, scale_in_place and warp_sum for compute_75."""
    with Workers(1) as workers:
        module = DeviceModule("cuda", DEVICE_CODE, "three.cu")
        return make_ltoir(module, THREE, arch="compute_75", toolkit=toolkit, workers=workers)


@pytest.fixture(scope="session")
def packed(toolkit: Toolkit, ltoir: bytes) -> Packed:
    """The library `three`."""
    modules = modules_of(THREE, version=toolkit.bytecode_version())
    library = pack(modules.interface, modules.implementation, ltoir, stem="three", toolkit=toolkit)
    return Packed(modules.interface, modules.implementation, ltoir, library)


@pytest.fixture
def assembler_that(tmp_path: Path) -> Callable[[str, str], Toolkit]:
    """A toolkit whose tileiras lists the given versions and otherwise runs the given shell commands."""

    def make(versions: str, commands: str) -> Toolkit:
        script = tmp_path / "bin with space" / "tileiras"
        script.parent.mkdir(exist_ok=True)
        script.write_text(
            "#!/bin/sh\n"
            'case "$1" in\n'
            '--version) echo "Cuda compilation tools, release 13.5, V13.5.1"; exit 0;;\n'
            f'--list-versions) printf "{versions}"; exit 0;;\n'
            '--help) printf "  --gpu-name=<value>\\n    =sm_90\\n    =sm_120\\n"; exit 0;;\n'
            "esac\n"
            f"{commands}\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return resolve({**os.environ, "CUTILE_TILEIRAS_PATH": str(script)})

    return make
