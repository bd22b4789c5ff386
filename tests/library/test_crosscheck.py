"""The disassembler compares declarations and implementations; its refusal is ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from library.samples import THREE, elementwise
from tilewright.exports.model import Access, ExportSet
from tilewright.library.crosscheck import crosscheck
from tilewright.library.errors import LibraryError
from tilewright.toolchain.toolkit import Toolkit


def test_good_descriptions_pass_without_a_word(toolkit: Toolkit) -> None:
    assert crosscheck(THREE, toolkit.bytecode_version(), toolkit) == ""


def test_parametric_descriptions_pass(toolkit: Toolkit) -> None:
    mixed = ExportSet("m", (elementwise("relu_any", tile_shape=None), *THREE.exports))
    assert crosscheck(mixed, toolkit.bytecode_version(), toolkit) == ""


def test_a_refusal_of_the_disassembler_is_shown_whole(toolkit: Toolkit) -> None:
    relu = elementwise("relu")
    split = replace(relu, parameters=(relu.parameters[1], *relu.parameters[:1], replace(relu.parameters[1], name="z")))
    assert [each.access for each in split.parameters] == [Access.OUT, Access.IN, Access.OUT]
    with pytest.raises(LibraryError) as caught:
        crosscheck(ExportSet("bad", (split,)), toolkit.bytecode_version(), toolkit)
    text = str(caught.value)
    assert "error: tileirdisasm refuses the descriptions of `bad` (exit code 3)" in text
    assert "--preview=simt bad.tilebc" in text
    assert "with an 'in' arg in between" in text


def test_without_a_disassembler_the_note_says_so(toolkit: Toolkit) -> None:
    note = crosscheck(THREE, (13, 5), replace(toolkit, disassembler=None))
    assert note == (
        "interface and implementations were not compared by the disassembler: the toolkit has no tileirdisasm"
    )


def test_a_disassembler_of_another_version_is_not_asked(
    toolkit: Toolkit, assembler_that: Callable[[str, str], Toolkit]
) -> None:
    newer = assembler_that(r"13.5\n13.6\n", "exit 1")
    note = crosscheck(THREE, newer.bytecode_version(), newer)
    assert note.endswith("tileirdisasm is of version 13.5.37, the descriptions are of 13.6")
