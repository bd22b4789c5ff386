"""What both languages say alike about the arguments of the attribute, each in its own notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from needed_tools import needed
from sources.project import write
from tilewright.exports.model import TileExport
from tilewright.sources.front_end import read_source
from tilewright.sources.source import SourceError

FORMS = {
    "k.cu": "[[tile_export({})]] __device__ float f(float x) {{ return x; }}\n",
    "k.rs": "use cuda_device::tile_export;\n#[tile_export({})]\npub fn f(x: f32) -> f32 {{ x }}\n",
}


def message(root: Path, name: str, argument: str) -> str:
    write(root, {name: FORMS[name].format(argument)})
    with pytest.raises(SourceError) as caught:
        read_source(root / name, root=root, library="sample")
    return str(caught.value)


def only_export(root: Path, name: str) -> TileExport:
    if name.endswith(".rs"):
        needed("rustc")
    (export,) = read_source(root / name, root=root, library="sample").exports.exports
    return export


LONG = "1_" * 1000 + "x"


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize(
    "argument", [f"tile_shape({LONG})", f"name = a{LONG}", f'tile_shape = "{"1" * 2000}"', f"a{LONG} = 1"]
)
def test_a_long_argument_is_quoted_in_part(name: str, argument: str, tmp_path: Path) -> None:
    said = message(tmp_path, name, argument)
    shown = [line for line in said.splitlines() if not line.startswith("    ")]
    assert max(map(len, shown)) < 200
    assert "..." in shown[0]


@pytest.mark.parametrize("name", FORMS)
def test_a_list_that_is_not_assigned_is_offered_as_a_list(name: str, tmp_path: Path) -> None:
    offered = {"k.cu": 'arch = {"sm_90"}', "k.rs": 'arch = ["sm_90"]'}[name]
    assert message(tmp_path, name, 'arch("sm_90")').endswith(f"  hint: {offered}")
    write(tmp_path, {name: FORMS[name].format(offered)})
    assert only_export(tmp_path, name).arch == ("sm_90",)


@pytest.mark.parametrize("name", FORMS)
def test_sizes_are_listed_as_the_language_lists(name: str, tmp_path: Path) -> None:
    offered = {"k.cu": "tile_shapes = {64}", "k.rs": "tile_shapes = [64]"}[name]
    listed = offered.replace("64", "0x40, 128")
    assert message(tmp_path, name, "tile_shapes(64)").endswith(f"  hint: {offered}")
    assert message(tmp_path, name, "tile_shapes = 64").endswith(f"  hint: {offered}")
    assert message(tmp_path, name, listed.replace("shapes", "shape")).endswith(f"  hint: {listed}")
    for wrong in ('64, "128"', "", "64, 2 * 64", "-64"):
        said = message(tmp_path, name, offered.replace("64", wrong))
        assert "`tile_shapes` is a list of integer literals" in said
    write(tmp_path, {name: FORMS[name].format(listed)})
    export = only_export(tmp_path, name)
    assert (export.tile_shape, export.tile_shapes) == (None, (64, 128))


@pytest.mark.parametrize("name", FORMS)
def test_a_size_in_quotes_is_offered_without(name: str, tmp_path: Path) -> None:
    assert message(tmp_path, name, 'tile_shape = "64"').endswith("  hint: tile_shape = 64")


@pytest.mark.parametrize("name", FORMS)
def test_an_error_bound_is_declared_alike_and_must_be_a_number(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: FORMS[name].format("tile_shape = 64, max_ulps = 0x10")})
    assert only_export(tmp_path, name).max_ulps == 16
    assert message(tmp_path, name, 'tile_shape = 64, max_ulps = "4"').endswith("  hint: max_ulps = 4")
    assert "`max_ulps` is an integer literal, not `-1`" in message(tmp_path, name, "tile_shape = 64, max_ulps = -1")
