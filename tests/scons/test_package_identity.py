"""What a package's bytes depend on besides its contents and its tools, which are signed with its name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tilewright.scons import signatures
from tilewright.scons.signatures import package_identity
from tilewright.toolchain.toolkit import Toolkit


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
