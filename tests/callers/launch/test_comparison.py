"""Results against expectations."""

from __future__ import annotations

import numpy as np

from tilewright.callers.launch.comparison import difference, largest_error

ONE = np.float32(1)
NEXT = np.nextafter(ONE, np.float32(2))


def test_without_a_tolerance_every_bit_counts() -> None:
    assert difference(np.array([ONE, NEXT]), np.array([ONE, NEXT])) == ""
    assert "1 of 2 elements differ" in difference(np.array([ONE, NEXT]), np.array([ONE, ONE]))
    assert "element [0] is -0.0, expected 0.0" in difference(np.array([-0.0]), np.array([0.0]))


def test_any_nan_is_as_good_as_another() -> None:
    other = np.array([0x7FFFFFFF], np.uint32).view(np.float32)
    assert difference(other, np.array([np.nan], np.float32)) == ""
    assert difference(other, np.array([ONE])) != ""


def test_a_tolerance_allows_that_much_and_another_type() -> None:
    exact = np.array([1.0, 2.0])
    assert difference(np.array([ONE, ONE * 2]), exact, rtol=1e-6) == ""
    assert "1 of 2 elements differ" in difference(np.array([ONE, ONE * 2]), np.array([1.0, 2.001]), rtol=1e-6)
    assert "the types differ" in difference(np.array([ONE, ONE]), exact)


def test_shapes_must_agree_and_few_elements_are_shown() -> None:
    assert "the shapes differ: (2,) and (3,) expected" in difference(np.zeros(2), np.zeros(3))
    assert difference(np.zeros((3, 3)), np.ones((3, 3))).count("\n") == 4
    assert "element [0, 1] is 0.0, expected 1.0" in difference(np.zeros((3, 3)), np.ones((3, 3)))


def test_the_largest_error_is_taken_in_float64() -> None:
    assert largest_error(np.array([1, 200], np.uint8), np.array([3, 100], np.uint8)) == 100.0
