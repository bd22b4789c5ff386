"""Comparison by bits, the rule for NaN, and bounds in units of the last place."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright.callers.comparison import compare
from tilewright.callers.inputs import dtype_of
from tilewright.exports.elements import ElementType

F16, F32, F64, I32, U8 = (ElementType.F16, ElementType.F32, ElementType.F64, ElementType.I32, ElementType.U8)


def f32(*bits: int) -> np.ndarray:
    return np.array(bits, dtype="<u4").view("<f4")


def test_equal_bits_are_equal() -> None:
    tile = f32(0x3F800000, 0x80000000, 0x7F800000)
    assert compare(F32, tile, tile.copy()).wrong == 0


def test_a_difference_is_told_in_hex_and_decimal() -> None:
    found = compare(F32, f32(0x3F800000, 0x3FC00000), f32(0x3F800000, 0x40000000))
    assert [str(each) for each in found.first] == ["element 1 is 0x3fc00000 (1.5), expected 0x40000000 (2)"]


def test_minus_zero_is_not_zero() -> None:
    assert compare(F32, f32(0x80000000), f32(0)).wrong == 1


def test_any_nan_stands_for_an_expected_nan_and_is_counted() -> None:
    found = compare(F32, f32(0x7FFFFFFF, 0xFFC00000, 0x7F800001), f32(0x7FC00000, 0x7FC00000, 0x7FC00000))
    assert (found.wrong, found.nans) == (0, 3)


@pytest.mark.parametrize("max_ulps", [0, 1000])
def test_a_nan_is_no_number_and_a_number_no_nan(max_ulps: int) -> None:
    assert compare(F32, f32(0x7FC00000), f32(0x3F800000), max_ulps=max_ulps).wrong == 1
    assert compare(F32, f32(0x7F800000), f32(0x7FC00000), max_ulps=max_ulps).wrong == 1


def test_integers_have_no_nan() -> None:
    found = compare(I32, np.array([-1], "<i4"), np.array([0x7FC00000], "<i4"))
    assert str(found.first[0]) == "element 0 is 0xffffffff (-1), expected 0x7fc00000 (2143289344)"


def test_only_the_first_four_are_told() -> None:
    found = compare(U8, np.arange(10, dtype="u1"), np.zeros(10, "u1"))
    assert (found.wrong, [each.element for each in found.first]) == (9, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("found", "expected", "ulps"),
    [
        (0x3F800000, 0x3F800001, 1),
        (0x3F800003, 0x3F800000, 3),
        (0x80000000, 0x00000000, 0),
        (0x80000001, 0x00000001, 2),
        (0x7F7FFFFF, 0x7F800000, 1),
        (0xBF800000, 0x3F800000, 2 * 0x3F800000),
    ],
)
def test_the_bound_counts_representable_numbers(found: int, expected: int, ulps: int) -> None:
    within = compare(F32, f32(found), f32(expected), max_ulps=max(ulps, 1))
    assert (within.wrong, within.largest_ulps) == (0, ulps)
    if ulps > 1:
        assert compare(F32, f32(found), f32(expected), max_ulps=ulps - 1).wrong == 1


@pytest.mark.parametrize("element", [F16, F64])
def test_the_bound_holds_at_other_sizes(element: ElementType) -> None:
    one = np.array([1.0, -1.0], dtype_of(element))
    next_one = np.nextafter(one, np.array(math.inf, one.dtype))
    assert compare(element, next_one, one, max_ulps=1).largest_ulps == 1
    assert compare(element, np.nextafter(next_one, next_one.dtype.type(math.inf)), one, max_ulps=1).wrong == 2


def test_extreme_doubles_are_far_apart() -> None:
    assert compare(F64, np.array([math.inf]), np.array([-math.inf]), max_ulps=2**62).wrong == 1
