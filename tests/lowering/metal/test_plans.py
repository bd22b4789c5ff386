"""The planner of row programs: the published plans, what makes a mapping illegal, what cost may not decide."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lowering.metal.kernels import row_sum
from tile import kernels as dsl
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.reductions.analysis import Row, row_program
from tilewright.lowering.metal.reductions.plan import PlannerOptions, Work, plan, planner_problems
from tilewright.lowering.options import CompileOptions

SHAPES = ((1, 127), (17, 257), (128, 1024), (64, 4096))
PUBLISHED = {
    "sum": ((1, 1, 23), (1, 8, 14), (4, 1, 33), (8, 1, 49)),
    "softmax": ((2, 1, 32), (1, 8, 42), (4, 1, 64), (8, 1, 112)),
    "rms_norm": ((2, 1, 24), (1, 8, 22), (4, 1, 40), (8, 1, 64)),
    "layer_norm": ((2, 1, 30), (1, 8, 33), (4, 1, 56), (8, 1, 96)),
    "cross_entropy": ((1, 1, 31), (1, 8, 27), (4, 1, 51), (8, 1, 83)),
}
"""SIMD-groups a row, rows a threadgroup, score, for each shape."""


def captured(name, rows, columns):
    shape, weight = (rows, columns), (columns,)
    shapes = {
        "sum": (shape, (rows,)),
        "softmax": (shape, shape),
        "rms_norm": (shape, weight, shape),
        "layer_norm": (shape, weight, weight, shape),
        "cross_entropy": (shape, (rows,), (rows,)),
    }
    definition = dsl.row_sum if name == "sum" else getattr(dsl, name)
    return definition.capture(*shapes[name]).function


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("place", range(4))
def test_the_twenty_published_plans(name, place):
    proof = row_program(captured(name, *SHAPES[place]))
    assert isinstance(proof, Row), proof
    chosen = plan(proof.work).chosen
    assert chosen is not None
    assert (chosen.subgroups, chosen.packing, chosen.score) == PUBLISHED[name][place]


def test_softmax_over_4096_stripes_sixteen_scalars_and_shares_64_bytes():
    proof = row_program(captured("softmax", 64, 4096))
    assert isinstance(proof, Row)
    assert proof.work == Work(64, (4096,) * 4, 2, (4096,))
    chosen = plan(proof.work).chosen
    assert chosen is not None
    assert (chosen.shared_bytes, chosen.striped_scalars, chosen.threads) == (64, 16, 256)


def test_every_candidate_can_be_looked_at():
    found = plan(Work(17, (257,) * 4, 2, (257,)))
    assert [(each.subgroups, each.packing) for each in found.candidates] == [
        (1, 1),
        (1, 2),
        (1, 4),
        (1, 8),
        (2, 1),
        (4, 1),
        (8, 1),
    ]
    assert found.chosen == min(found.candidates, key=lambda each: each.score)
    assert found.rejected == ()


def test_a_tie_goes_to_the_smaller_width():
    found = plan(Work(1, (127, 1), 1))
    scores = {each.subgroups: each.score for each in found.candidates}
    assert scores[1] == scores[2] == 23
    assert found.chosen is not None
    assert found.chosen.subgroups == 1


def test_a_stripe_budget_rejects_widths_before_source_and_another_may_win():
    """B117."""
    work = Work(64, (4096,) * 4, 2, (4096,))
    found = plan(replace(work, programs=1000))
    assert {each.subgroups for each in found.rejected} == {1}
    assert "128 striped scalars a worker exceed the budget of 64" in found.rejected[0].rejected
    assert plan(Work(1, (65536,), 1, (65536,))).chosen is None
    assert plan(Work(1, (16384,), 1, (16384,))).chosen is not None


def test_a_row_that_neither_form_can_hold_is_refused_with_both_reasons():
    """B110, B117."""
    wide = dsl.softmax.capture((2, 20000), (2, 20000)).function
    with pytest.raises(LoweringError) as caught:
        lower(wide, CompileOptions(subgroup_reductions=True))
    assert [problem.rule for problem in caught.value.problems] == ["row-plan", "private-storage"]
    assert "striped scalars a worker exceed the budget of 64" in str(caught.value)
    assert "over the expansion budget" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_threads": 64}, "128 threads exceed the 64 of a threadgroup"),
        ({"threadgroup_memory": 16}, "32 bytes of partials exceed the 16"),
        ({"threads": 128}, "packing 1 x 2 x 32 is not the exact 128 threads"),
        ({"subgroups": 8}, "1 SIMD-groups are not the exact 8"),
        ({"packing": 4}, "2 rows a threadgroup are not the exact 4"),
    ],
)
def test_resources_and_exact_constraints_reject_candidates(options, words):
    """B118."""
    found = plan(Work(17, (1024,) * 4, 2, (1024,)), PlannerOptions(**options))
    assert any(words in each.rejected for each in found.rejected)
    assert found.chosen is not None


def test_an_exact_thread_count_reaches_the_kernel():
    """B118."""
    artifact = lower(row_sum(17, 64), CompileOptions(subgroup_reductions=True, threads_per_group=64))
    assert artifact.block == (64, 1, 1)
    wide = lower(row_sum(17, 64), CompileOptions(subgroup_reductions=True, threads_per_group=512))
    assert wide.block == (512, 1, 1)
    with pytest.raises(LoweringError, match="no mapping of the rows is legal"):
        lower(row_sum(2, 64, "subgroup"), CompileOptions(subgroup_reductions=True, threads_per_group=512))


@pytest.mark.parametrize(
    ("options", "rule", "words"),
    [
        ({"chunk_cost": -1.0}, "planner-costs", "chunk_cost=-1.0 is not finite and nonnegative"),
        ({"reduction_cost": math.nan}, "planner-costs", "reduction_cost=nan"),
        ({"threadgroup_cost": math.inf}, "planner-costs", "threadgroup_cost=inf"),
        ({"max_candidates": 0}, "planner-budget", "search budget of 0 candidates"),
        ({"threads": 48}, "threads-not-whole-subgroups", "48 threads are not a multiple of 32"),
        ({"max_threads": 16}, "planner-limits", "holds no SIMD-group"),
        ({"unroll": 32}, "reduction-unroll", "unroll=32 is not an integer of 1 to 16"),
    ],
)
def test_planner_options_that_are_wrong_in_themselves(options, rule, words):
    """B118, B119."""
    (problem,) = planner_problems(PlannerOptions(**options))
    assert problem.rule == rule
    assert words in problem.what
    with pytest.raises(LoweringError, match=rule):
        lower(row_sum(2, 64), CompileOptions(subgroup_reductions=True), planner=PlannerOptions(**options))


def test_the_default_planner_options_are_legal():
    assert list(planner_problems(PlannerOptions())) == []
    assert list(planner_problems(PlannerOptions(max_candidates=7))) == []


@pytest.mark.parametrize("costs", [(0.0, 0.0, 0.0), (5.0, 0.1, 1.0), (1e6, 1e-6, 3.0)])
def test_costs_never_decide_what_is_legal(costs):
    """B204."""
    work = Work(1000, (8192,) * 3, 4, (8192,))
    plain = plan(work)
    chunk, reduction, threadgroup = costs
    other = plan(work, PlannerOptions(chunk_cost=chunk, reduction_cost=reduction, threadgroup_cost=threadgroup))
    assert [each.rejected for each in other.candidates] == [each.rejected for each in plain.candidates]
