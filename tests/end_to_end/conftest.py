"""Projects for SCons to build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from end_to_end.sandbox import DESCRIPTION, LIMIT, OLD_ASSEMBLER, RELU, SCONSTRUCT, Sandbox


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Sandbox]:
    """Makes projects: a folder name, then the files; without files, one library `relu` that includes a header."""

    def make(folder: str = "project", files: Mapping[str, str] | None = None) -> Sandbox:
        made = Sandbox(tmp_path / folder)
        made.write(files or {"SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": LIMIT})
        return made

    return make


@pytest.fixture
def sandbox(project: Callable[..., Sandbox]) -> Sandbox:
    """A project with one library `relu` that includes a header."""
    return project()


@pytest.fixture
def plain(project: Callable[..., Sandbox]) -> Sandbox:
    """A project that writes the description modules of a stored description: no compiler takes part."""
    sconstruct = """\
import tilewright.scons

env = Environment(tools=[tilewright.scons.generate])
env.TileBytecode("out/plain.iface.tilebc", "plain.tileexports.json")
"""
    return project("plain", {"SConstruct": sconstruct, "plain.tileexports.json": DESCRIPTION})


@pytest.fixture
def old_assembler(tmp_path: Path) -> Path:
    """A tileiras that answers like that of CUDA 13.4 and can do nothing else."""
    path = tmp_path / "old" / "bin" / "tileiras"
    path.parent.mkdir(parents=True)
    path.write_text(OLD_ASSEMBLER, encoding="utf-8")
    path.chmod(0o755)
    return path
