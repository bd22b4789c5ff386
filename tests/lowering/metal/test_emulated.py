"""Emitted MSL against the FP64 interpreter. Evidence: "MSL, CPU-emulated".

Two seeds, three thread orders, outputs full of NaN, guard bands, views that end at an inaccessible page, both readings
of `multiply`; then address, undefined-behaviour and thread sanitizers on one order.
"""

from __future__ import annotations

import pytest

from lowering.metal.cases import native_cases, reference_cases, row_cases
from tilewright.lowering.metal.check.comparison import compare
from tilewright.lowering.metal.check.programs import LABEL, Order, Variant, type_check
from tilewright.lowering.metal.check.units import Msl

FAMILIES = {"reference": reference_cases, "rows": row_cases, "native": native_cases}
MOST_THREADS = 1200
"""Threads of a launch under the thread sanitizer, which pays for each."""


@pytest.mark.parametrize("family", FAMILIES)
def test_clang_accepts_the_text_with_address_spaces(family, clang, tmp_path):
    cases = FAMILIES[family]()
    type_check(clang, [Msl.of(case.artifact, f"{case.name}.metal") for case in cases], tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_emitted_msl_computes_what_the_interpreter_does(family, built):
    cases = FAMILIES[family]()
    program, folder = built(family, cases, Variant.PLAIN)
    found = [compare(program, number, case, folder) for number, case in enumerate(cases)]
    assert [str(each) for each in found if not each.passed] == []
    assert {each.label for each in found} == {LABEL} == {"MSL, CPU-emulated"}
    assert all(each.runs == 6 for each in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_access_is_out_of_bounds_or_undefined(family, built):
    """Exact buffers: what is emitted touches nothing outside its views."""
    cases = FAMILIES[family]()
    program, folder = built(family, cases, Variant.ASAN)
    found = [
        compare(program, number, case, folder, seeds=(1,), orders=(Order.FORWARD,)) for number, case in enumerate(cases)
    ]
    assert [str(each) for each in found if not each.passed] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_do_not_race(family, built):
    """Threads of the reference form share nothing but views: a part of it is enough."""
    cases = FAMILIES[family]()
    cases = cases[::8] if family == "reference" else cases
    program, folder = built(f"{family}-raced", cases, Variant.TSAN)
    small = [(number, case) for number, case in enumerate(cases) if case.artifact.dispatch_size[0] <= MOST_THREADS]
    assert len(small) > len(cases) // 2
    found = [compare(program, number, case, folder, seeds=(1,), orders=(Order.PERMUTED,)) for number, case in small]
    assert [str(each) for each in found if not each.passed] == []
