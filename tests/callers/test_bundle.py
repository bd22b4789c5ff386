"""The verification bundle: whole or refused, the same bytes for the same library."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from callers.libraries import SPECIFICATION, bundle_of, cuda_library
from tilewright.callers.bundle import MANIFEST, Bundle, bundle_files, is_cubin, read_bundle
from tilewright.callers.error import CallerError
from tilewright.device.workers import Workers
from tilewright.library.publish import publish
from tilewright.toolchain.toolkit import Toolkit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit, workers: Workers, compiler: str) -> Bundle:
    source = '#include "half.cuh"\n' + SPECIFICATION
    folder = tmp_path_factory.mktemp("made")
    (folder / "half.cuh").write_text("constexpr float half_of_it = 0.5f;\n")
    return bundle_of(cuda_library(folder, source), toolkit, workers, compiler)


@pytest.fixture
def folder(made: Bundle, tmp_path: Path) -> Path:
    publish({tmp_path / "bundle" / name: data for name, data in bundle_files(made).items()})
    return tmp_path / "bundle"


def refused(folder: Path) -> str:
    with pytest.raises(CallerError) as raised:
        read_bundle(folder)
    return str(raised.value)


def rewrite(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(manifest | changes))


def test_what_was_written_is_read_back(made: Bundle, folder: Path) -> None:
    found = read_bundle(folder)
    assert bundle_files(found) == bundle_files(made)
    assert len(found.digest) == 64
    assert found.emulation is not None
    assert found.emulation.headers[0][0] == "/tw/half.cuh"


def test_a_library_gives_the_same_bundle_twice(
    made: Bundle, tmp_path: Path, toolkit: Toolkit, workers: Workers, compiler: str
) -> None:
    (tmp_path / "half.cuh").write_text("constexpr float half_of_it = 0.5f;\n")
    again = bundle_of(cuda_library(tmp_path, '#include "half.cuh"\n' + SPECIFICATION), toolkit, workers, compiler)
    assert bundle_files(again) == bundle_files(made)


def test_no_folder_of_this_machine_is_in_it(made: Bundle) -> None:
    for name, data in bundle_files(made).items():
        assert os.getcwd().encode() not in data, name
        assert b"/tmp/" not in data, name


@pytest.mark.parametrize("name", ["sample.cubin", "tiles/relu.x.before.bin", "emulation/library.cu"])
def test_a_changed_file_is_named(folder: Path, name: str) -> None:
    data = bytearray((folder / name).read_bytes())
    data[-1] ^= 1
    (folder / name).write_bytes(data)
    text = refused(folder)
    assert text.startswith(f"{folder / name}: error: the file was changed: its SHA-256 is ")
    assert text.endswith("hint: make the bundle again")


def test_every_missing_file_is_named(folder: Path) -> None:
    (folder / "tiles" / "relu.x.before.bin").unlink()
    (folder / "sample.cubin").unlink()
    assert refused(folder) == (
        f"{folder}/sample.cubin: error: a file of the bundle cannot be read: No such file or directory\n"
        f"{folder}/tiles/relu.x.before.bin: error: a file of the bundle cannot be read: No such file or directory"
    )


def test_a_corrupt_cubin_is_refused_even_with_its_digest(made: Bundle, tmp_path: Path) -> None:
    publish({tmp_path / name: data for name, data in bundle_files(replace(made, cubin=made.cubin[:200])).items()})
    assert (
        refused(tmp_path)
        == f"{tmp_path}/sample.cubin: error: the cubin is corrupt: it is no ELF file for a CUDA device"
    )
    assert is_cubin(made.cubin)
    assert not is_cubin(made.cubin[:-1])
    assert not is_cubin(Path("/proc/self/exe").read_bytes())


def test_a_folder_without_manifest_is_no_bundle(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}/manifest.json: error: no verification bundle: No such file or directory"


@pytest.mark.parametrize("text", ["", "[]", "{}", '"schema"', "{"])
def test_another_file_is_no_manifest(folder: Path, text: str) -> None:
    (folder / MANIFEST).write_text(text)
    assert "error: the manifest is not that of a verification bundle" in refused(folder)


def test_another_schema_is_refused_by_both_numbers(folder: Path) -> None:
    rewrite(folder, schema=2)
    assert "the bundle has schema version 2; this release reads version 1" in refused(folder)


@pytest.mark.parametrize("name", ["../outside.bin", "/etc/passwd"])
def test_a_file_outside_of_the_bundle_is_refused(folder: Path, name: str) -> None:
    rewrite(folder, sha256={name: "00"})
    assert f"the manifest names the file '{name}', outside of the bundle" in refused(folder)


@pytest.mark.parametrize(
    "changes", [{"exports": [{}]}, {"exports": 3}, {"cubin": "absent"}, {"emulation": 1}, {"seed": "x"}]
)
def test_a_broken_manifest_is_one_problem(folder: Path, changes: dict[str, object]) -> None:
    rewrite(folder, **changes)
    assert "error: the manifest is broken: " in refused(folder)
