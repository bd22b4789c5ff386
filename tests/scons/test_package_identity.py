"""What a package's manifest says of its tools is signed, so that it never names others than made the contents."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.scons import signatures
from tilewright.scons.signatures import package_identity
from tilewright.toolchain.toolkit import Toolkit


def test_another_tool_is_another_identity_and_another_place_is_not(toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    assert toolkit.nvrtc is not None
    assert set(json.loads(package_identity(toolkit))["tools"]) == {"assembler", "nvrtc", "nvvm", "libdevice"}
    builds = replace(toolkit, assembler=replace(toolkit.assembler, build="another build"))
    versions = replace(toolkit, nvrtc=replace(toolkit.nvrtc, version="13.5.99"))
    elsewhere = replace(toolkit, nvrtc=replace(toolkit.nvrtc, path=Path("/elsewhere/libnvrtc.so")))
    identities = [package_identity(each) for each in (toolkit, builds, versions, replace(toolkit, nvrtc=None))]
    assert len(set(identities)) == 4
    assert package_identity(elsewhere) == identities[0]


def test_another_release_is_another_identity(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The manifest and the bill of materials name the version of this package."""
    before = package_identity(toolkit)
    changed = tmp_path / "tilewright"
    shutil.copytree(signatures.PACKAGE, changed, ignore=shutil.ignore_patterns("__pycache__"))
    (changed / "__init__.py").write_text('__version__ = "9.9"\n')
    monkeypatch.setattr(signatures, "PACKAGE", changed)
    for remembered in (signatures.source_digest, signatures._sources):
        remembered.cache_clear()
    after = package_identity(toolkit)
    monkeypatch.undo()
    for remembered in (signatures.source_digest, signatures._sources):
        remembered.cache_clear()
    assert after != before
    assert package_identity(toolkit) == before


def test_another_compressor_is_another_identity(toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    before = package_identity(toolkit)
    monkeypatch.setattr("zlib.ZLIB_RUNTIME_VERSION", "9.9")
    assert package_identity(toolkit) != before
