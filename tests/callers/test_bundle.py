"""The verification bundle: whole or refused, the same bytes for the same library."""

from __future__ import annotations

import json
import os
import random
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from callers.libraries import SPECIFICATION, bundle_of, cuda_library
from tilewright.callers.bundle import MANIFEST, Bundle, archive_of, bundle_files, is_cubin, read_bundle, write_bundle
from tilewright.callers.error import CallerError
from tilewright.device.workers import Workers
from tilewright.toolchain.toolkit import Toolkit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit, workers: Workers, compiler: str) -> Bundle:
    source = '#include "half.cuh"\n' + SPECIFICATION
    folder = tmp_path_factory.mktemp("made")
    (folder / "half.cuh").write_text("constexpr float half_of_it = 0.5f;\n")
    return bundle_of(cuda_library(folder, source), toolkit, workers, compiler)


@pytest.fixture
def path(made: Bundle, tmp_path: Path) -> Path:
    path = tmp_path / "sample.verify.zip"
    path.write_bytes(write_bundle(made))
    return path


def refused(path: Path) -> str:
    with pytest.raises(CallerError) as raised:
        read_bundle(path)
    return str(raised.value)


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, **changes: object) -> None:
    files = members(path)
    files[MANIFEST] = json.dumps(json.loads(files[MANIFEST]) | changes).encode()
    path.write_bytes(archive_of(files))


def test_what_was_written_is_read_back(made: Bundle, path: Path) -> None:
    found = read_bundle(path)
    assert write_bundle(found) == path.read_bytes()
    assert len(found.digest) == 64
    assert found.emulation is not None
    assert found.emulation.headers[0][0] == "/tw/half.cuh"


def test_a_library_gives_the_same_bundle_twice(
    made: Bundle, tmp_path: Path, toolkit: Toolkit, workers: Workers, compiler: str
) -> None:
    (tmp_path / "half.cuh").write_text("constexpr float half_of_it = 0.5f;\n")
    again = bundle_of(cuda_library(tmp_path, '#include "half.cuh"\n' + SPECIFICATION), toolkit, workers, compiler)
    assert write_bundle(again) == write_bundle(made)


def test_nothing_of_the_time_or_the_machine_is_in_the_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist()[0] == MANIFEST
        for member in archive.infolist():
            facts = (member.date_time, member.external_attr, member.compress_type, member.create_system)
            assert facts == ((1980, 1, 1, 0, 0, 0), 0o100644 << 16, zipfile.ZIP_STORED, 3)


def test_no_folder_of_this_machine_is_in_it(made: Bundle) -> None:
    for name, data in bundle_files(made).items():
        assert os.getcwd().encode() not in data, name
        assert b"/tmp/" not in data, name


@pytest.mark.parametrize("name", ["sample.cubin", "tiles/relu.x.before.bin", "emulation/library.cu"])
def test_a_changed_file_is_named(path: Path, name: str) -> None:
    files = members(path)
    files[name] = files[name][:-1] + bytes([files[name][-1] ^ 1])
    path.write_bytes(archive_of(files))
    text = refused(path)
    assert text.startswith(f"{path}: error: `{name}` was changed: its SHA-256 is ")
    assert text.endswith("hint: make the bundle again")


def test_every_missing_file_is_named(path: Path) -> None:
    files = members(path)
    del files["tiles/relu.x.before.bin"], files["sample.cubin"]
    path.write_bytes(archive_of(files))
    lines = refused(path).splitlines()
    assert f"{path}: error: the bundle lacks `sample.cubin`" in lines
    assert f"{path}: error: the bundle lacks `tiles/relu.x.before.bin`" in lines


def test_a_corrupt_cubin_is_refused_even_with_its_digest(made: Bundle, tmp_path: Path) -> None:
    path = tmp_path / "b.verify.zip"
    path.write_bytes(write_bundle(replace(made, cubin=made.cubin[:200])))
    assert refused(path) == f"{path}: error: `sample.cubin` is corrupt: it is no ELF file for a CUDA device"
    assert is_cubin(made.cubin)
    assert not is_cubin(made.cubin[:-1])
    assert not is_cubin(Path("/proc/self/exe").read_bytes())


@pytest.mark.parametrize("part", ["", "PK", "PK\3\4", "text" * 100])
def test_another_file_is_no_bundle(tmp_path: Path, part: str) -> None:
    path = tmp_path / "x.zip"
    path.write_text(part)
    assert refused(path).startswith(f"{path}: error: no verification bundle, or a damaged one: ")
    assert refused(tmp_path / "gone.zip").endswith("error: no verification bundle: No such file or directory")
    path.write_bytes(archive_of({"other": b""}))
    assert refused(path) == f"{path}: error: no verification bundle: there is no `{MANIFEST}` in it"


def test_damage_at_any_place_is_told_in_one_line_each(path: Path) -> None:
    """A bundle that was cut or in which a byte was flipped is read as it was made, or refused by a CallerError."""
    whole = path.read_bytes()
    wanted = read_bundle(path)
    chance = random.Random(7)
    for _ in range(200):
        at = chance.randrange(len(whole))
        flipped = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
        for damaged in (whole[:at], flipped):
            path.write_bytes(damaged)
            try:
                found = read_bundle(path)
            except CallerError:
                continue
            assert bundle_files(found) == bundle_files(wanted)


@pytest.mark.parametrize("text", ["", "[]", "{}", '"schema"', "{"])
def test_another_file_is_no_manifest(path: Path, text: str) -> None:
    path.write_bytes(archive_of(members(path) | {MANIFEST: text.encode()}))
    assert "error: the manifest is not that of a verification bundle" in refused(path)


def test_another_schema_is_refused_by_both_numbers(path: Path) -> None:
    rewrite(path, schema=2)
    assert "the bundle has schema version 2; this release reads version 1" in refused(path)


@pytest.mark.parametrize("name", ["../outside.bin", "/etc/passwd"])
def test_a_file_outside_of_the_bundle_is_never_read(path: Path, name: str) -> None:
    rewrite(path, sha256={name: "00"})
    assert f"the bundle lacks `{name}`" in refused(path)


@pytest.mark.parametrize(
    "changes", [{"exports": [{}]}, {"exports": 3}, {"cubin": "absent"}, {"emulation": 1}, {"seed": "x"}]
)
def test_a_broken_manifest_is_one_problem(path: Path, changes: dict[str, object]) -> None:
    rewrite(path, **changes)
    assert "error: the manifest is broken: " in refused(path)
