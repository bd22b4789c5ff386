"""Libraries that the tool builds, with their bindings beside them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tilewright.cli import main
from tilewright.toolchain.shadow import shadow_root, tool_environment
from tilewright.toolchain.toolkit import Toolkit

STAND_IN = Path(__file__).parent / "stand_in" / "cuda" / "tile_preview"

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds a library from its name and source for sm_90, writes its bindings, and gives their folder."""

    def build(name: str, source: str, arch: str = "sm_90", headers: Iterable[Path] = ()) -> Path:
        folder = tmp_path_factory.mktemp(name)
        for header in headers:
            (folder / header.name).write_bytes(header.read_bytes())
        (folder / f"{name}.cu").write_text(source, encoding="utf-8")
        assert main(["build", str(folder / f"{name}.cu"), "--arch", arch, "-o", str(folder / f"{name}.tilelib")]) == 0
        assert main(["bindings", str(folder / f"{name}.tileexports.json")]) == 0
        return folder

    return build


@pytest.fixture(scope="session")
def cutile(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit) -> Callable[..., str]:
    """Runs a Python script that sees cuTile, the stand-in for its preview package, and nothing else.

    NVIDIA's compiler wheels are hidden, so that cuTile takes the assembler from PATH: in the folder of the wheels
    the assembler does not find the library that it links with.
    """
    site = tmp_path_factory.mktemp("site")
    (site / "cuda").mkdir()
    (site / "cuda" / "tile_preview").symlink_to(STAND_IN)
    for name in ("cuda.tile", "cutile_cache", "typing_extensions"):
        spec = importlib.util.find_spec(name)
        assert spec is not None, "the tests need the dev extra"
        assert spec.origin is not None
        origin = Path(spec.origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        (site / name.partition(".")[0] if "." not in name else site / "cuda" / "tile").with_suffix(
            source.suffix
        ).symlink_to(source)

    def run(*command: str | Path) -> str:
        environment = tool_environment(toolkit, {**os.environ, "PYTHONPATH": str(site)})
        environment["PATH"] = os.pathsep.join([str(shadow_root(toolkit) / "bin"), environment["PATH"]])
        done = subprocess.run(
            [sys.executable, "-S", *command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
