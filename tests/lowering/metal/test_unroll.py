"""The unroll factor of SIMD-group rows: where it is taken, what the text holds, results to the bit."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from lowering.metal.cases import ROWS, case, labels, unrolled
from lowering.metal.kernels import row_sum, tiled_rows
from tile import kernels as dsl
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import Form
from tilewright.lowering.metal.check.comparison import Case, banded, contents
from tilewright.lowering.metal.check.programs import Order, Variant, launch
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.reductions.plan import PlannerOptions
from tilewright.lowering.options import CompileOptions

FACTORS = (2, 3, 8, 16)


def loops(factor: int, columns: int = 1000) -> list[str]:
    """The heads of the loops in a softmax."""
    source = lower(dsl.softmax.capture((3, columns), (3, columns)).function, unrolled(factor)).source
    return [re.sub(r"k\d+", "k", head) for head in re.findall(r"for \(.*\)", source)]


def test_an_iteration_takes_as_many_chunks_and_the_rest_follows():
    """8 chunks of 128 workers in each of four loops."""
    assert loops(1) == ["for (int k = 0; k < 8; ++k)"] * 4
    assert loops(2) == ["for (int k = 0; k < 8; k += 2)"] * 4
    assert loops(3) == ["for (int k = 0; k < 6; k += 3)"] * 4
    assert loops(4) == ["for (int k = 0; k < 8; k += 4)"] * 4


@pytest.mark.parametrize("factor", [5, 8, 16])
def test_a_loop_of_one_iteration_is_written_out(factor):
    assert loops(factor) == []


def test_a_reduction_keeps_its_one_accumulator():
    plain, four = (lower(row_sum(3, 4096), options).source for options in (ROWS, unrolled(4)))
    assert plain.count("float r") == four.count("float r") == 1
    assert four.count("simd_sum") == plain.count("simd_sum") == 2
    assert len(re.findall(r"\+ v\d+\)", four)) == 4 * len(re.findall(r"\+ v\d+\)", plain))


def test_only_the_last_chunk_is_guarded():
    def guards(factor: int) -> int:
        return lower(row_sum(9, 1000), unrolled(factor)).source.count("< 1000)")

    assert guards(1) == guards(2) == guards(3) == guards(16) == 1


def test_a_factor_of_one_changes_nothing_and_another_is_told():
    function = row_sum(3, 1000)
    assert lower(function, unrolled(1)) == lower(function, unrolled(0)) == lower(function, ROWS)
    assert "unrolled" not in lower(function, ROWS).realization
    assert "loops unrolled by 4," in lower(function, unrolled(4)).realization
    by_planner = lower(function, ROWS, planner=PlannerOptions(unroll=4))
    assert by_planner == lower(function, unrolled(4))
    assert by_planner.compile_key != lower(function, ROWS).compile_key


@pytest.mark.parametrize("factor", [-1, 17, True, 2.0, "4", None])
def test_a_factor_is_an_integer_of_1_to_16(factor):
    words = re.escape(f"reduction_unroll={factor!r} is not an integer of 1 to 16")
    with pytest.raises(LoweringError, match=words) as caught:
        lower(row_sum(3, 1000), unrolled(factor))
    assert [problem.rule for problem in caught.value.problems] == ["reduction-unroll"]
    with pytest.raises(LoweringError, match=re.escape(f"unroll={factor!r} is not an integer")):
        lower(row_sum(3, 1000), ROWS, planner=PlannerOptions(unroll=factor))


def test_a_factor_belongs_to_rows():
    """No other form takes it as a hint, neither one that was asked for nor one that an automatic root would keep."""
    for factor in (1, 4):
        for native, hint in (
            (False, "subgroup_reductions=True, or leave `reduction_unroll` out"),
            (True, "leave `reduction_unroll` out"),
        ):
            with pytest.raises(LoweringError, match="an option of SIMD-group rows, which were not requested") as caught:
                lower(row_sum(3, 1000), CompileOptions(reduction_unroll=factor, metal_mpp=native))
            assert [problem.hint for problem in caught.value.problems] == [hint]
    gated = dsl.swiglu.capture((4, 64), (4, 64), (4, 64)).function
    assert lower(gated, ROWS).form is Form.REFERENCE
    with pytest.raises(LoweringError, match="asks for SIMD-group rows, which the kernel cannot have") as caught:
        lower(gated, unrolled(4))
    assert [problem.rule for problem in caught.value.problems] == ["reduction-unroll", "no-reduction"]


def test_options_and_planner_do_not_contradict_each_other():
    """B26."""
    with pytest.raises(LoweringError, match="Conflicting unroll constraints: reduction_unroll=4 and unroll=2"):
        lower(row_sum(3, 1000), unrolled(4), planner=PlannerOptions(unroll=2))
    threads = replace(ROWS, threads_per_group=64)
    with pytest.raises(LoweringError, match="Conflicting thread constraints: threads_per_group=64 and threads=128"):
        lower(row_sum(3, 1000), threads, planner=PlannerOptions(threads=128))
    assert lower(row_sum(3, 1000), threads, planner=PlannerOptions(threads=64)).block == (64, 1, 1)


def families() -> dict[str, list[Case]]:
    """Each kernel plain, then with every factor."""
    shape, weight = (3, 4096), (4096,)
    kernels = {
        "softmax": (dsl.softmax.capture((3, 1000), (3, 1000)).function, {}),
        "layer_norm": (dsl.layer_norm.capture(shape, weight, weight, shape).function, {}),
        "cross_entropy": (dsl.cross_entropy.capture((7, 257), (7,), (7,)).function, labels(7, 257)),
        "extrema": (dsl.row_extrema.capture((7, 1024), (7,), (7,)).function, {}),
        "blocks": (tiled_rows(5, 6, 50), {}),
    }
    return {
        name: [case(f"{name}-{factor}", function, unrolled(factor), 5e-5, inputs) for factor in (1, *FACTORS)]
        for name, (function, inputs) in kernels.items()
    }


def test_results_are_those_of_the_plain_loop_to_the_bit(built):
    """The order is the same, so every bit is; without unrolling the comparison with FP64 is made elsewhere."""
    kernels = families()
    program, folder = built("unrolled", [each for cases in kernels.values() for each in cases], Variant.PLAIN)
    number = 0
    for name, cases in kernels.items():
        arguments = contents(cases[0].function, cases[0].inputs, 0)
        results: list[list[np.ndarray]] = []
        for each in cases:
            buffers = [banded(arguments[place], 0) for place in each.artifact.buffer_arguments]
            grid, block = each.artifact.grid, each.artifact.block
            outcome = launch(program, number, grid, block, buffers, folder, order=Order.PERMUTED)
            assert outcome.fault == "", each.name
            results.append([got.view(np.uint32) for got in outcome.contents])
            number += 1
        for factor, found in zip(FACTORS, results[1:], strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(results[0], found, strict=True)), (name, factor)
        assert len({each.artifact.source for each in cases}) > len(FACTORS) // 2, name
