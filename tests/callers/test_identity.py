"""What a build signature of a bundle depends on: versions and our own sources, no folder of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.callers.error import CallerError
from tilewright.callers.identity import bundle_identity, caller_identity, compiler_version
from tilewright.toolchain.toolkit import Toolkit


def test_it_names_every_component_and_no_folder(toolkit: Toolkit, compiler: str) -> None:
    caller = caller_identity(toolkit)
    for name in ("nvrtc", "nvvm", "nvjitlink"):
        assert f"{name} {toolkit.require(name).version}" in caller
    bundle = bundle_identity(toolkit, compiler)
    assert bundle == f"{caller}; {compiler_version(compiler)}"
    assert str(toolkit.root) not in bundle
    assert str(Path.home()) not in bundle


def test_without_a_compiler_that_is_said(toolkit: Toolkit) -> None:
    assert bundle_identity(toolkit, "").endswith("; no C++ compiler")


def test_a_compiler_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="cannot run the C\\+\\+ compiler /absent/g"):
        compiler_version("/absent/g++")
