"""The sizes of a build, and each export of one size as an export of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tilewright.exports.elements import ElementType
from tilewright.exports.model import Access, ExportSet, Parameter, Sync, TileExport
from tilewright.exports.rules import ExportError
from tilewright.exports.sizes import instances, linked, own_name, own_symbol, parse_sizes, with_sizes, without_sizes

ANY = TileExport("f", "f_impl", "f", (Parameter("x", ElementType.F32, Access.INOUT, 4),))
OWN = replace(ANY, name="own", symbol="own_impl", function="own", tile_shapes=(256, 32))
SIZED = replace(ANY, name="g", symbol="g__N64", function="g", tile_shape=128)
LIBRARY = ExportSet("sample", (ANY, OWN, SIZED))


@pytest.mark.parametrize(
    ("text", "sizes"),
    [("", ()), ("  ", ()), ("64", (64,)), ("256, 64,64,128", (64, 128, 256)), ("1,16777216", (1, 2**24))],
)
def test_a_builds_list_is_sorted_and_has_each_size_once(text: str, sizes: tuple[int, ...]) -> None:
    assert parse_sizes(text, option="tile_shapes=") == sizes


@pytest.mark.parametrize(
    "text", ["x", "64;128", "-64", "0", "96", "6_4", "\u0664", "1e2", ",", "64,", "33554432", "8" * 9000]
)
def test_what_is_no_tile_size_is_quoted(text: str) -> None:
    with pytest.raises(
        ExportError, match=r"is no tile size\n  hint: a tile size is .*: --tile-shapes 64,128"
    ) as caught:
        parse_sizes(text, option="--tile-shapes ")
    assert len(str(caught.value)) < 400


def test_the_list_of_an_export_wins_over_that_of_the_build() -> None:
    listed = with_sizes(LIBRARY, (64, 128))
    assert [export.tile_shapes for export in listed.exports] == [(64, 128), (256, 32), ()]
    assert with_sizes(LIBRARY, ()) == LIBRARY
    assert without_sizes(listed) == without_sizes(LIBRARY) != LIBRARY


def test_a_build_list_that_an_export_cannot_have_names_the_export() -> None:
    lanes = replace(ANY, sync=Sync.WARP)
    with pytest.raises(ExportError) as caught:
        with_sizes(ExportSet("sample", (lanes,)), (64, 128))
    (problem,) = caught.value.problems
    assert problem.what == "`f`: the listed size 64 does not fill whole warps of 32 lanes x footprint 4"
    assert problem.hint.endswith("or give the export its own: `tile_shapes = {128}`")


def test_an_instance_knows_its_body_and_another_export_is_its_own() -> None:
    first, second = instances(OWN)
    assert (first.name, first.symbol, first.tile_shape, first.invocations) == ("own__N256", "own_impl__N256", 256, 64)
    assert (own_name(second), own_symbol(second)) == ("own", "own_impl")
    assert instances(SIZED) == (SIZED,)
    assert instances(ANY) == ()
    assert own_symbol(SIZED) == "g__N64"
    assert [export.symbol for export in linked(LIBRARY).exports] == [
        "f_impl",
        "own_impl__N256",
        "own_impl__N32",
        "g__N64",
    ]
