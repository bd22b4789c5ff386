"""MSL that TVM and TileLang wrote, as a control: the shim was not made for it. Evidence: "MSL, CPU-emulated"."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.programs import Bound, Order, Outcome, Program, Variant, build, launch, type_check
from tilewright.lowering.metal.check.units import Msl

HERE = Path(__file__).parent
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
REFUSED = "tilelang/gemm_f16"
THINNED = ("tilelang/gemm_f32", "tvm/gemm", "tvm/softmax_16")
UNNEEDED = {("tvm/softmax_16", 1), ("tvm/softmax_16", 4)}
"""Barriers between a write and a read of the same thread, and of no other."""


@dataclass(frozen=True)
class Generated:
    """A kernel with its record."""

    name: str
    msl: Msl
    record: dict

    def arguments(self) -> list[np.ndarray]:
        """Random factors; NaN where the result goes, which is the last buffer."""
        random = np.random.default_rng(0)
        found = [random.standard_normal(shape).astype(element) for element, shape in self.record["buffers"].values()]
        return [*found[:-1], np.full_like(found[-1], np.nan)]

    def run(self, program: Program, number: int, folder: Path, order: Order = Order.FORWARD, seed: int = 0) -> Outcome:
        buffers = [Bound(each) for each in self.arguments()]
        grid, block = self.record["grid"], self.record["block"]
        return launch(program, number, tuple(grid), tuple(block), buffers, folder, order=order, seed=seed)

    def wanted(self) -> np.ndarray:
        """In FP64."""
        first, *others = (each.astype(np.float64) for each in self.arguments()[:-1])
        if others:
            return first @ others[0]
        powers = np.exp(first - first.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def read(path: Path) -> Generated:
    record = json.loads(path.read_text())
    name = f"{path.parent.name}/{path.stem}"
    return Generated(name, Msl(f"{name}.metal", path.with_suffix(".metal").read_text(), record["entry"]), record)


ALL = {each.name: each for each in map(read, sorted(HERE.glob("*/*.json")))}
ACCEPTED = [each for each in ALL.values() if each.name != REFUSED]
SITES = [(each, place) for each in map(ALL.get, THINNED) for place in range(each.msl.source.count(BARRIER))]


def without_barrier(kernel: Generated, place: int) -> Msl:
    parts = kernel.msl.source.split(BARRIER)
    source = BARRIER.join(parts[: place + 1]) + BARRIER.join(["", *parts[place + 1 :]])[len(BARRIER) :]
    return replace(kernel.msl, name=f"{kernel.name}-{place}.metal", source=source)


@pytest.fixture(scope="module")
def raced(clang, tmp_path_factory):
    """Every kernel without each of its barriers, as one program under the thread sanitizer."""
    folder = tmp_path_factory.mktemp("raced")
    return build(clang, [without_barrier(*site) for site in SITES], folder, Variant.TSAN), folder


@pytest.mark.parametrize("name", ALL)
def test_the_text_is_as_the_compiler_wrote_it(name):
    kernel = ALL[name]
    assert hashlib.sha256(kernel.msl.source.encode()).hexdigest() == kernel.record["sha256"]
    assert kernel.record["command"] == f"python generate.py {name.split('/')[0]}"


def test_every_text_has_a_record_and_every_folder_its_program():
    assert {f"{path.parent.name}/{path.stem}" for path in HERE.glob("*/*.metal")} == set(ALL)
    assert {path.parent.name for path in HERE.glob("*/program.py")} == {name.split("/")[0] for name in ALL}


def test_the_type_check_accepts_all_but_one(clang, tmp_path):
    type_check(clang, [kernel.msl for kernel in ACCEPTED], tmp_path)


@pytest.mark.parametrize("variant", Variant, ids=lambda variant: variant.value)
def test_it_is_right_in_every_order(variant, clang, tmp_path):
    """At two seeds; under a sanitizer at one of them."""
    program = build(clang, [kernel.msl for kernel in ACCEPTED], tmp_path, variant)
    for number, kernel in enumerate(ACCEPTED):
        wanted = kernel.wanted()
        for order, seed in itertools.product(Order, (0, 1) if variant is Variant.PLAIN else (1,)):
            outcome = kernel.run(program, number, tmp_path, order, seed)
            assert outcome.fault == ""
            error = np.abs(outcome.contents[-1] - wanted) / (1 + np.abs(wanted))
            assert error.max() < 1e-5, (kernel.name, order, seed)


@pytest.mark.parametrize("number", range(len(SITES)), ids=lambda number: f"{SITES[number][0].name}-{SITES[number][1]}")
def test_each_barrier_that_is_missing_is_found_where_it_is_needed(number, raced):
    kernel, place = SITES[number]
    outcome = kernel.run(raced[0], number, raced[1])
    if (kernel.name, place) in UNNEEDED:
        assert outcome.fault == ""
    else:
        assert "data race" in outcome.fault


def test_a_matrix_stored_as_another_type_is_refused_with_the_reason(clang, tmp_path):
    """TileLang keeps the sums of this product in FP32 and stores them, unconverted, through a pointer to FP16."""
    kernel = ALL[REFUSED]
    line = 1 + next(at for at, text in enumerate(kernel.msl.source.splitlines()) if "simdgroup_store" in text)
    with pytest.raises(LoweringError) as refused:
        type_check(clang, [kernel.msl], tmp_path)
    (problem,) = refused.value.problems
    assert problem.what == f"clang rejects the MSL of {REFUSED}.metal (this is not Apple's compiler)"
    assert "simdgroup_store converts no types" in problem.detail
    assert f"{REFUSED}.metal:{line}:3: note" in problem.detail
    assert problem.detail.count("error:") == 1
