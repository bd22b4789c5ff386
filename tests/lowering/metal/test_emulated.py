"""Emitted MSL against the FP64 interpreter. Evidence: "MSL, CPU-emulated".

Two seeds, three thread orders, outputs full of NaN, guard bands, views that end at an inaccessible page, both readings
of `multiply`; then address, undefined-behaviour and thread sanitizers on one order.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lowering.metal.cases import native_cases, reference_cases, row_cases
from lowering.metal.conftest import Built
from tilewright.lowering.metal.check.comparison import MOST_RACED_THREADS, Case, Evidence, examine
from tilewright.lowering.metal.check.programs import LABEL, Variant, type_check
from tilewright.lowering.metal.check.units import Msl

FAMILIES = {"reference": reference_cases, "rows": row_cases, "native": native_cases}


@pytest.mark.parametrize("family", FAMILIES)
def test_clang_accepts_the_text_with_address_spaces(family, clang, tmp_path):
    cases = FAMILIES[family]()
    type_check(clang, [Msl.of(case.artifact, f"{case.name}.metal") for case in cases], tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_emitted_msl_computes_what_the_interpreter_does(family, built):
    found = examined(built, family, FAMILIES[family](), Variant.PLAIN)
    assert {each.label for each in found} == {LABEL} == {"MSL, CPU-emulated"}
    assert all(each.runs == 6 and not each.part for each in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_access_is_out_of_bounds_or_undefined(family, built):
    """Exact buffers: what is emitted touches nothing outside its views."""
    assert not any(each.part for each in examined(built, family, FAMILIES[family](), Variant.ASAN))


@pytest.mark.parametrize("family", FAMILIES)
def test_threads_do_not_race(family, built):
    """Threads of the reference form share nothing but views: a part of it is enough. Of larger launches some
    threadgroups run."""
    cases = FAMILIES[family]()
    cases = cases[::8] if family == "reference" else cases
    found = examined(built, f"{family}-raced", cases, Variant.TSAN)
    large = {case.name for case in cases if case.artifact.dispatch_size[0] > MOST_RACED_THREADS}
    assert {each.case for each in found if each.part} == large


def examined(built: Built, family: str, cases: Sequence[Case], variant: Variant) -> list[Evidence]:
    program, folder = built(family, cases, variant)
    found = [examine(program, number, case, folder) for number, case in enumerate(cases)]
    assert [str(each) for each in found if not each.passed] == []
    return found
