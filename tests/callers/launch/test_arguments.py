"""Kernel arguments as text: what each form gives, and what is said about every other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilewright.callers.error import CallerError
from tilewright.callers.launch.arguments import TYPES, parse_argument


def test_a_ramp_stops_before_its_last_value() -> None:
    value = parse_argument("f32[4]=ramp:-4:4").value
    assert value.dtype == np.float32
    assert value.tolist() == [-4.0, -2.0, 0.0, 2.0]


def test_shapes_fills_and_zeros() -> None:
    assert parse_argument("f64[2,3]=fill:0.5").value.tolist() == [[0.5] * 3] * 2
    assert parse_argument("u8[3]=zeros").value.tolist() == [0, 0, 0]
    assert parse_argument("i16[2]=fill:-7").value.dtype == np.int16


@pytest.mark.parametrize("name", sorted(TYPES))
def test_a_scalar_of_every_type(name: str) -> None:
    argument = parse_argument(f"{name}=5")
    assert argument.scalar
    assert argument.value.ndim == 0
    assert argument.value.dtype == TYPES[name]
    assert argument.value == 5
    assert argument.type_name == name


def test_a_file_and_what_becomes_of_it(tmp_path: Path) -> None:
    file = tmp_path / "x, y.npy".replace(", ", "_")
    np.save(file, np.arange(6, dtype=">f4").reshape(2, 3).T)
    argument = parse_argument(f"{file},write=out.npy,compare=want.npy,rtol=1e-6,atol=2e-6")
    assert argument.value.dtype == np.dtype("<f4")
    assert argument.value.flags.c_contiguous
    assert argument.value.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert (argument.write, argument.compare) == (Path("out.npy"), Path("want.npy"))
    assert (argument.rtol, argument.atol) == (1e-6, 2e-6)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "neither a .npy file nor TYPE[SHAPE]=... nor TYPE=VALUE"),
        ("gone.npy", "cannot read `gone.npy`"),
        ("bf16[4]=zeros", "`bf16` is none of f16, f32"),
        ("f32[4x4]=zeros", "`4x4` is not a shape; write it like [300,77]"),
        ("f32[0]=zeros", "every extent must be at least 1"),
        ("f32[4]=ones", "`ones` is none of zeros, fill:VALUE, ramp:FIRST:LAST"),
        ("f32[4]=ramp:1", "`ramp:1` is none of"),
        ("f32[4]=ramp:a:b", "`a` is not a number"),
        ("i8=300", "`300` is not a number of that type"),
        ("i32=0.5", "`0.5` is not a number of that type"),
        ("i32=5,write=x.npy", "a scalar is neither written nor compared"),
        ("f32[4]=zeros,rtol=1e-6", "a tolerance is for `compare=`"),
        ("f32[4]=zeros,save=x.npy", "`save=x.npy` is none of write=..., compare=..., rtol=..., atol=..."),
    ],
)
def test_anything_else_is_refused_with_an_example(text: str, why: str) -> None:
    with pytest.raises(CallerError) as raised:
        parse_argument(text)
    (problem,) = raised.value.problems
    assert problem.what.startswith(f"the argument `{text}` cannot be used: ")
    assert why in problem.what
    assert "--arg 'f32[1024]=ramp:-4:4'" in problem.hint


def test_the_example_in_the_hint_is_right() -> None:
    for text in ("f32[1024]=ramp:-4:4", "i32=1024", "f32[1024]=zeros,compare=want.npy"):
        parse_argument(text)


def test_a_file_that_would_run_code_or_holds_another_type_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(tmp_path / "complex.npy", np.zeros(2, complex))
    for name, why in (("objects.npy", "allow_pickle"), ("complex.npy", "holds complex128")):
        with pytest.raises(CallerError, match=why):
            parse_argument(str(tmp_path / name))
