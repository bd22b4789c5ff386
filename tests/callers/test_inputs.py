"""Input tiles: that they hold the values at the edges, differ between parameters, and follow from the seed alone."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from callers.nvvm_libraries import result, value
from tilewright.callers.comparison import bits_of
from tilewright.callers.inputs import KINDS, dtype_of, tiles_of, words_of
from tilewright.exports.elements import ElementType
from tilewright.exports.model import TileExport

FLOATS = [element for element in ElementType if element.is_float]
INTEGERS = [element for element in ElementType if not element.is_float]


def export(element: ElementType, size: int = 128, count: int = 3) -> TileExport:
    return TileExport(
        "f", "f_impl", "f", (*(value(f"x{at}", element) for at in range(count)), result("f_out", element)), size
    )


def test_the_first_ramp_is_that_of_the_specification() -> None:
    title, tiles = next(iter(tiles_of(export(ElementType.F32), 1)))
    assert title == "a ramp from -4 to 4"
    assert tiles["x0"].tolist() == [(at - 64) / 16 for at in range(128)]


def test_the_second_counts_as_the_sum_over_lanes_needs() -> None:
    _, (title, tiles), *_ = tiles_of(export(ElementType.F32), 1)
    assert (title, tiles["x0"].tolist()) == ("a ramp from 0 upwards", [float(at) for at in range(128)])


def test_raw_words_are_the_same_everywhere() -> None:
    assert hashlib.sha256(words_of(1, "relu", 64).tobytes()).hexdigest().startswith("66d542c63a992a2c")


def test_equal_seeds_give_equal_tiles_and_others_do_not() -> None:
    first, again, other = (list(tiles_of(export(ElementType.F32), seed)) for seed in (1, 1, 2))
    for (_, left), (_, right) in zip(first, again, strict=True):
        assert all(left[name].tobytes() == right[name].tobytes() for name in left)
    assert first[2][1]["x0"].tobytes() != other[2][1]["x0"].tobytes()


@pytest.mark.parametrize("element", ElementType)
def test_no_two_parameters_get_the_same_tile(element: ElementType) -> None:
    for title, tiles in tiles_of(export(element), 1):
        images = {tile.tobytes() for tile in tiles.values()}
        assert len(images) == 3, title
        assert all(tile.dtype == dtype_of(element) and tile.shape == (128,) for tile in tiles.values())


@pytest.mark.parametrize("element", FLOATS)
def test_floats_meet_every_edge(element: ElementType) -> None:
    tiles = {title: tiles["x0"] for title, tiles in tiles_of(export(element), 1)}
    information = np.finfo(dtype_of(element))
    assert set(tiles) == {"a ramp from -4 to 4", *(kind.name for kind in KINDS[1:-1])}
    nans = bits_of(element, tiles["NaN"][np.isnan(tiles["NaN"])])
    quiet = 1 << (information.nmant - 1)
    assert {bool(int(bits) & quiet) for bits in nans} == {True, False}
    assert {int(bits) >> (8 * element.size - 1) for bits in nans} == {0, 1}
    edges = set(tiles["infinities"].tolist())
    assert {np.inf, -np.inf, float(information.max), float(information.min)} <= edges
    zeros = tiles["infinities"][tiles["infinities"] == 0]
    assert np.signbit(zeros).any()
    assert not np.signbit(zeros).all()
    smallest = float(information.smallest_subnormal)
    assert {smallest, -smallest, float(information.smallest_normal)} <= set(tiles["denormals"].tolist())


@pytest.mark.parametrize("element", INTEGERS)
def test_integers_meet_their_extremes(element: ElementType) -> None:
    tiles = {title: tiles["x0"] for title, tiles in tiles_of(export(element), 1)}
    information = np.iinfo(dtype_of(element))
    assert "NaN" not in tiles
    assert {information.min, information.max, 0, 1} <= set(tiles["integer extremes"].tolist())


def test_a_very_large_tile_gets_fewer_kinds() -> None:
    assert len(list(tiles_of(export(ElementType.U8, 65536, 1), 1))) == 5
    assert len(list(tiles_of(export(ElementType.U8, 131072, 1), 1))) == 3
