"""What is in the identity of each kind of action: what can change its bytes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from needed_tools import needs
from tilewright.scons import signatures
from tilewright.scons.signatures import (
    bindings_identity,
    bytecode_identity,
    capture_identity,
    exports_identity,
    library_identity,
    link_identity,
    ltoir_identity,
    metal_check_identity,
    metal_library_identity,
    mock_identity,
    program_identity,
    shader_cuda_identity,
    shader_metal_identity,
    source_digest,
)
from tilewright.toolchain.toolkit import Toolkit

ALL = (
    exports_identity,
    ltoir_identity,
    bytecode_identity,
    library_identity,
    bindings_identity,
    program_identity,
    link_identity,
    mock_identity,
    capture_identity,
    shader_cuda_identity,
    shader_metal_identity,
    metal_check_identity,
    metal_library_identity,
)


def changed(before: Toolkit, after: Toolkit) -> set[str]:
    return {identity.__name__ for identity in ALL if identity(before) != identity(after)}


def test_a_new_build_of_the_assembler_concerns_the_library_and_programs(toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    other = replace(toolkit, assembler=replace(toolkit.assembler, build="another build"))
    assert changed(toolkit, other) == {"library_identity", "program_identity"}


@pytest.mark.parametrize("name", signatures.READ_BY_COMPILERS)
def test_a_variable_that_compilers_of_the_host_read_concerns_what_they_make(
    toolkit: Toolkit, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    identities = (*ALL, signatures.provider_identity)
    before = [identity(toolkit) for identity in identities]
    monkeypatch.setenv(name, "another")
    concerned = {one.__name__ for one, was in zip(identities, before, strict=True) if one(toolkit) != was}
    assert concerned == {"mock_identity", "program_identity", "provider_identity"}


def test_another_place_of_the_same_tools_concerns_nothing(toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    assert toolkit.nvrtc is not None
    elsewhere = replace(
        toolkit,
        root=Path("/elsewhere"),
        assembler=replace(toolkit.assembler, path=Path("/elsewhere/bin/tileiras"), origin="PATH"),
        nvrtc=replace(toolkit.nvrtc, path=Path("/elsewhere/lib64/libnvrtc.so"), origin="PATH"),
    )
    assert changed(toolkit, elsewhere) == set()


def test_a_newer_bytecode_version_concerns_descriptions_library_and_programs(toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    newer = replace(toolkit.assembler, build="newer", bytecode_versions=((13, 5), (13, 6)))
    assert changed(toolkit, replace(toolkit, assembler=newer)) == {
        "bytecode_identity",
        "library_identity",
        "program_identity",
    }


@needs("g++")
@pytest.mark.parametrize(
    ("name", "concerned"),
    [
        ("nvrtc", {"ltoir_identity", "mock_identity", "shader_cuda_identity"}),
        ("nvcc", {"ltoir_identity", "program_identity"}),
        ("cccl", {"ltoir_identity", "program_identity"}),
        ("runtime", {"ltoir_identity", "program_identity"}),
        ("crt", {"ltoir_identity", "program_identity"}),
        ("nvjitlink", {"program_identity", "link_identity", "mock_identity"}),
    ],
)
def test_a_new_tool_or_new_headers_concern_the_steps_that_use_them(
    toolkit: Toolkit, name: str, concerned: set[str]
) -> None:
    component = toolkit.require(name)
    other = replace(toolkit, **{name: replace(component, version="13.5.99")})
    assert changed(toolkit, other) == concerned


def test_another_host_compiler_concerns_programs(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = program_identity(toolkit)
    other = tmp_path / "g++"
    other.write_text("#!/bin/sh\necho 'g++ 99.1'\n")
    other.chmod(0o755)
    monkeypatch.setenv("NVCC_CCBIN", str(other))
    assert "g++ 99.1" in program_identity(toolkit)
    assert program_identity(toolkit) != before


def test_another_clang_concerns_the_check_of_msl_and_not_the_msl(
    toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, identities = shader_metal_identity(toolkit), {metal_check_identity(toolkit)}
    other = tmp_path / "clang++"
    for version in ("21.1", "4"):
        other.write_text(f"#!/bin/sh\necho 'clang version {version}'\n")
        other.chmod(0o755)
        monkeypatch.setenv("TILEWRIGHT_CLANG", str(other))
        identities.add(metal_check_identity(toolkit))
    assert len(identities) == 3
    assert "missing" in metal_check_identity(toolkit)
    assert shader_metal_identity(toolkit) == text
    assert "clang" not in text


def test_a_missing_compiler_still_has_an_identity(toolkit: Toolkit) -> None:
    assert "missing" in ltoir_identity(replace(toolkit, nvrtc=None))
    assert "no tileiras" in library_identity(replace(toolkit, assembler=None))
    assert "missing" in mock_identity(replace(toolkit, nvrtc=None))
    assert "no NVRTC" in shader_cuda_identity(replace(toolkit, nvrtc=None))
    assert "no nvJitLink" in link_identity(replace(toolkit, nvjitlink=None))
    assert "no nvcc" in program_identity(replace(toolkit, nvcc=None))


def test_our_own_sources_are_in_the_digest_by_name_and_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for name, text in (("a.py", "1"), ("b.py", "1"), ("b.py", "2")):
        root = tmp_path / f"{name}{text}"
        (root / "room").mkdir(parents=True)
        (root / "room" / name).write_text(text)
        monkeypatch.setattr(signatures, "PACKAGE", root)
        monkeypatch.setattr(signatures, "ROOMS", {"kind": ("room",)})
        source_digest.cache_clear()
        signatures._sources.cache_clear()
        digests.add(source_digest("kind"))
    source_digest.cache_clear()
    signatures._sources.cache_clear()
    assert len(digests) == 3
