"""Packing with the real assembler, and what happens when it cannot, will not, or misbehaves."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from library.samples import THREE, Packed, elementwise
from tilewright.exports.model import ExportSet
from tilewright.library.archive import read_library
from tilewright.library.errors import LibraryError
from tilewright.library.static import pack, pack_command, shipped
from tilewright.problem import Place
from tilewright.toolchain.toolkit import Toolkit

GOLDEN = Path(__file__).parents[1] / "golden"


def refusal(packed: Packed, toolkit: Toolkit, **change: bytes) -> str:
    parts = {"interface": packed.interface, "implementation": packed.implementation, "ltoir": packed.ltoir} | change
    with pytest.raises(LibraryError) as caught:
        pack(parts["interface"], parts["implementation"], parts["ltoir"], stem="three", toolkit=toolkit)
    return str(caught.value)


def test_the_bytes_depend_on_no_path(
    packed: Packed, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "another folder"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        again = pack(packed.interface, packed.implementation, packed.ltoir, stem=f"x{len(name)}", toolkit=toolkit)
        assert again == packed.library
        assert list(folder.iterdir()) == []


def test_modules_of_another_writer_pack_as_well(ltoir: bytes, toolkit: Toolkit) -> None:
    interface, implementation = ((GOLDEN / f"three.{kind}.tilebc").read_bytes() for kind in ("iface", "impl"))
    library = read_library(pack(interface, implementation, ltoir, stem="three", toolkit=toolkit), "three.tilelib")
    assert (library.interface_data, library.catalog_data) == (interface, implementation)


def test_the_printed_command_makes_the_same_library(packed: Packed, toolkit: Toolkit, tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    paths = [folder / name for name in ("t.iface.tilebc", "t.impl.tilebc", "t.ltoir", "t.tilelib")]
    for path, data in zip(paths, (packed.interface, packed.implementation, packed.ltoir), strict=False):
        path.write_bytes(data)
    subprocess.run(shlex.join(pack_command(toolkit, *paths)), shell=True, check=True)
    assert paths[3].read_bytes() == packed.library


def test_code_that_is_not_ltoir_is_refused_before_the_assembler_takes_it(packed: Packed, toolkit: Toolkit) -> None:
    text = refusal(packed, toolkit, ltoir=b".version 9.5\n")
    assert text == "three.ltoir: error: the code of a tile library must be LTOIR, and this is PTX"


def test_a_refusal_of_the_assembler_is_shown_whole(packed: Packed, toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    text = refusal(packed, toolkit, interface=packed.implementation)
    assert "error: tileiras could not make `three.tilelib` (exit code 2)" in text
    assert "--preview-create-tile-lib --preview-interface=three.iface.tilebc" in text
    assert f"tileiras {toolkit.assembler.version} ({toolkit.assembler.path}, from {toolkit.assembler.origin})" in text
    assert "tile library interface may only contain extern" in text


def test_what_the_assembler_lets_through_is_still_refused(packed: Packed, toolkit: Toolkit) -> None:
    text = refusal(packed, toolkit, implementation=packed.interface)
    assert "the module of implementations holds a declaration, @relu" in text
    assert "nothing implements the declaration @warp_sum" in text


def test_an_assembler_below_13_5_cannot_pack(packed: Packed, assembler_that: Callable[[str, str], Toolkit]) -> None:
    text = refusal(packed, assembler_that(r"13.1\n13.4\n", "exit 1"))
    assert "tileiras lists 13.1 to 13.4; packing a tile library needs 13.5 or newer" in text
    assert "hint: " in text


def test_without_an_assembler_the_error_says_what_to_install(packed: Packed, toolkit: Toolkit) -> None:
    text = refusal(packed, replace(toolkit, assembler=None))
    assert "tileiras is missing" in text
    assert "hint: pip install" in text


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ("echo out; echo err >&2; exit 7", "could not make `three.tilelib` (exit code 7)"),
        ("kill -SEGV $$", "could not make `three.tilelib` (killed by SIGSEGV)"),
        ("exit 0", "tileiras reported success but wrote no `three.tilelib` (No such file or directory)"),
        ("echo x > three.tilelib", "three.tilelib: error: this is not a tile library"),
    ],
)
def test_a_failing_assembler_is_one_clear_error(
    packed: Packed, assembler_that: Callable[[str, str], Toolkit], commands: str, expected: str
) -> None:
    text = refusal(packed, assembler_that(r"13.4\n13.5\n", commands))
    assert expected in text
    if "err" in commands:
        assert "    out\n    err" in text


def test_an_assembler_that_changes_its_inputs_is_caught(
    packed: Packed, assembler_that: Callable[[str, str], Toolkit], toolkit: Toolkit, tmp_path: Path
) -> None:
    other = tmp_path / "other.tilelib"
    changed = packed.ltoir[:-1] + bytes([packed.ltoir[-1] ^ 1])
    other.write_bytes(pack(packed.interface, packed.implementation, changed, stem="three", toolkit=toolkit))
    text = refusal(packed, assembler_that(r"13.5\n", f"cp {other} three.tilelib"))
    assert "does not hold what it was given" in text


def test_a_temporary_folder_that_cannot_be_made_is_an_error(
    packed: Packed, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    text = refusal(packed, toolkit)
    assert f"cannot write the temporary folder `{tmp_path}/missing`: No such file or directory" in text
    assert "TMPDIR" in text


def test_only_exports_with_a_tile_size_are_shipped() -> None:
    mixed = ExportSet("m", (elementwise("relu_any", tile_shape=None), *THREE.exports))
    assert shipped(mixed).exports == THREE.exports


def test_parametric_exports_with_listed_sizes_are_shipped_as_they_are() -> None:
    listed = replace(elementwise("relu_any", tile_shape=None), tile_shapes=(64, 128))
    mixed = ExportSet("m", (listed, elementwise("other_any", tile_shape=None), *THREE.exports))
    assert shipped(mixed).exports == (listed, *THREE.exports)


def test_a_library_that_would_be_empty_is_an_error_with_a_place() -> None:
    export = replace(elementwise("relu_any", tile_shape=None), where=Place("m.cu", 3, 1))
    with pytest.raises(LibraryError) as caught:
        shipped(ExportSet("m", (export,)))
    assert str(caught.value) == (
        "m.cu:3:1: error: the static library of `m` would be empty: no export has a tile size\n"
        "  hint: give an export its size, tile_shape = 128, or list sizes for the build, tile_shapes=[64, 128]\n"
        "        or build the provider form, which serves every size: provider=1"
    )
    with pytest.raises(LibraryError, match="would be empty"):
        shipped(ExportSet("m", ()))


def test_the_caller_environment_is_untouched(packed: Packed, toolkit: Toolkit) -> None:
    before = dict(os.environ)
    pack(packed.interface, packed.implementation, packed.ltoir, stem="three", toolkit=toolkit)
    assert dict(os.environ) == before
