"""SIMD-group row programs: what is proved, what is refused, what the text holds."""

from __future__ import annotations

import re

import pytest

from lowering.metal import faulty
from lowering.metal.kernels import label_gather, native_gemm, row_sum, striped_loss, tiled_rows
from tile import kernels as dsl
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import Form
from tilewright.lowering.metal.device import MetalDevice
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.metal.reductions.analysis import BODY, Refused
from tilewright.lowering.metal.reductions.plan import PlannerOptions
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.text.printer import print_module
from tilewright.tileir.vocabulary import Kind, Opcode

ROWS = CompileOptions(subgroup_reductions=True)


def refusal(function) -> LoweringError:
    """Why an explicit subgroup root is refused; the first problem names the scope (B110)."""
    with pytest.raises(LoweringError) as caught:
        lower(function, ROWS)
    first, *_ = caught.value.problems
    assert first.rule == "subgroup-root"
    assert "explicit subgroup binding" in first.what
    return caught.value


@pytest.mark.parametrize(
    ("body", "rule", "words"),
    [
        (faulty.wrong_fold(Opcode.ADD, -0.0), "row-reducer", "the initial value is -0.0, not the identity 0.0"),
        (faulty.wrong_fold(Opcode.ADD, 1.0), "row-reducer", "the initial value is 1.0, not the identity 0.0"),
        (faulty.wrong_fold(Opcode.MAX, 0.0), "row-reducer", "not the identity -inf"),
        (faulty.wrong_fold(Opcode.MIN, 0.0), "row-reducer", "not the identity inf"),
        (faulty.wrong_fold(Opcode.MUL, 1.0), "row-reducer", "not add, max or min of FP32"),
        (faulty.observed_carry, "row-reducer", "a carry that nothing else observes"),
        (faulty.integer_fold, "row-reducer", "carries one FP32 scalar"),
        (faulty.no_reduction, "no-reduction", "a row program has a reduction"),
    ],
)
def test_only_pure_fp32_reducers_from_their_identity_are_mapped(body, rule, words):
    """B110, B112."""
    error = refusal(faulty.rows(body))
    assert rule in [problem.rule for problem in error.problems]
    assert words in str(error)


def test_arguments_have_to_be_noalias():
    """B113."""
    assert "`z` is both read and written: arguments have to be noalias" in str(refusal(faulty.rows(faulty.aliased)))


def test_control_around_a_reduction_has_to_be_uniform():
    """B114."""
    assert "control around a reduction has to be uniform" in str(refusal(faulty.rows(faulty.loop_around)))


@pytest.mark.parametrize(
    ("body", "kept", "words"),
    [
        (faulty.nested_parallel, 1, "a logical parallel nested in a row program"),
        (faulty.stored_twice, 1, "`z` is stored twice"),
        (faulty.stored_sum, 2, "a row program has one row"),
    ],
)
def test_effects_stay_in_the_distributed_domain_of_one_row(body, kept, words):
    """B115."""
    assert words in str(refusal(faulty.rows(body, kept=kept)))


@pytest.mark.parametrize("body", [faulty.permuted, faulty.fixed_index])
def test_a_striped_tile_is_read_by_its_owner_only(body):
    """B116."""
    error = refusal(faulty.rows(body))
    assert "row-ownership" in [problem.rule for problem in error.problems]
    assert "a worker that does not own the element" in str(error)


def test_a_gather_from_the_input_is_forwarded_and_one_from_a_stripe_is_refused():
    """B116."""
    assert lower(label_gather(5, 300, forwarded=True, scope="subgroup"), ROWS).form is Form.ROWS
    assert "does not own the element" in str(refusal(label_gather(5, 300, forwarded=False, scope="subgroup")))
    automatic = lower(label_gather(5, 300, forwarded=False), ROWS)
    assert automatic.form is Form.REFERENCE
    assert "rows refused: row-ownership" in automatic.realization


def test_cross_entropy_over_4096_classes_gathers_from_the_input_or_is_refused():
    """B116: the guarded gather from the view is accepted, the one from the tile of powers is not."""
    accepted = lower(dsl.cross_entropy.capture((7, 4096), (7,), (7,)).function, ROWS)
    assert accepted.form is Form.ROWS
    assert re.search(r"\(v\d+ \? p0\[v\d+ \* 4096 \+ v\d+\] : 0\.0f\)", accepted.source)
    assert "does not own the element" in str(refusal(striped_loss(7, 4096, "subgroup")))
    kept = lower(striped_loss(7, 4096), ROWS)
    assert kept.form is Form.REFERENCE
    assert "rows refused: row-ownership" in kept.realization


def test_manual_memory_is_never_inferred_away():
    """B120."""
    assert "manual Memory" in str(refusal(faulty.rows(faulty.manual_memory)))
    with pytest.raises(LoweringError, match="manual Memory is an unsupported operation"):
        lower(faulty.rows(faulty.manual_memory, scope=None), ROWS)


def test_the_same_rows_without_a_fault_are_mapped():
    for body in (faulty.stored_sum, faulty.wrong_fold(Opcode.MAX, -float("inf"))):
        assert lower(faulty.rows(body), ROWS).form is Form.ROWS


def test_without_the_option_there_is_no_collective():
    """B111."""
    assert "simd_" not in lower(row_sum(17, 257)).source
    with pytest.raises(LoweringError, match="cannot honor a subgroup binding"):
        lower(row_sum(17, 257, "subgroup"))


@pytest.mark.parametrize("scope", ["group", "worker"])
def test_another_explicit_scope_is_not_taken_for_a_subgroup(scope):
    """B110."""
    if scope == "worker":
        assert lower(row_sum(17, 257, scope), ROWS).form is Form.REFERENCE
    else:
        with pytest.raises(LoweringError, match="group binding"):
            lower(row_sum(17, 257, scope), ROWS)


def test_an_automatic_root_keeps_the_reference_form_and_says_why():
    """B110."""
    artifact = lower(dsl.swiglu.capture((4, 64), (4, 64), (4, 64)).function, ROWS)
    assert artifact.form is Form.REFERENCE
    assert "rows refused: no-reduction" in artifact.realization


def test_every_kind_of_operation_has_a_row():
    assert set(BODY) == set(Kind)
    for refused in BODY.values():
        assert refused is None or (isinstance(refused, Refused) and re.fullmatch(r"B\d+", refused.number))


def test_a_device_of_another_width_or_less_memory_is_refused():
    """B118, B173."""
    explicit = row_sum(2, 4096, "subgroup")
    with pytest.raises(LoweringError, match="a width of 64 exceeds the limits"):
        lower(explicit, ROWS, MetalDevice(thread_width=64))
    small = lower(explicit, ROWS, MetalDevice(threadgroup_memory=16))
    assert small.threadgroup_memory <= 16
    assert lower(explicit, ROWS).threadgroup_memory == 32


def test_memory_that_only_the_planner_allows_is_refused():
    """B118, B173."""
    explicit, planner = row_sum(2, 4096, "subgroup"), PlannerOptions(subgroups=8)
    assert lower(explicit, ROWS, planner=planner).threadgroup_memory == 32
    with pytest.raises(LoweringError, match="32 bytes of threadgroup memory exceeds the device limits, 16") as caught:
        lower(explicit, ROWS, MetalDevice(threadgroup_memory=16), planner)
    assert [problem.rule for problem in caught.value.problems] == ["subgroup-root", "threadgroup-memory"]
    with pytest.raises(LoweringError, match="256 threads a threadgroup exceeds the device limits, 128 at most"):
        lower(explicit, ROWS, MetalDevice(max_threads=128), planner)


def test_a_gpu_or_system_that_is_too_old_is_refused():
    """B172: the reductions of a SIMD-group came with family 7."""
    explicit = row_sum(2, 4096, "subgroup")
    assert lower(explicit, ROWS).required_family == 7
    with pytest.raises(LoweringError, match="needs GPU family 7 \\(Apple7\\) or newer, the device is of family 6"):
        lower(explicit, ROWS, MetalDevice(family=6))
    kept = lower(row_sum(2, 4096), ROWS, MetalDevice(family=6))
    assert kept.form is Form.REFERENCE
    assert "rows refused: metal-family" in kept.realization
    with pytest.raises(LoweringError, match="requires macOS 13, the device has 12"):
        lower(explicit, ROWS, MetalDevice(os=12))


def test_at_most_31_buffers():
    """B171."""
    assert lower(faulty.many_views(31), ROWS).buffer_arguments == tuple(range(31))
    assert "32 buffers exceed the binding capacity of 31" in str(refusal(faulty.many_views(32)))


@pytest.mark.parametrize("name", ["kernel", "threadgroup", "simd_sum", "metal"])
def test_a_name_that_is_a_word_of_the_language_changes_the_entry_and_nothing_else(name):
    """B190, B193."""
    plain, renamed = row_sum(3, 1000), row_sum(3, 1000)
    renamed.name = name
    first, second = lower(plain, ROWS), lower(renamed, ROWS)
    assert second.entry == f"tile_{name}"
    assert second.source.replace(second.entry, first.entry) == first.source


def test_collectives_stand_outside_every_branch_and_partials_are_declared_at_the_top():
    source = lower(dsl.softmax.capture((3, 1000), (3, 1000)).function, ROWS).source
    lines = source.splitlines()
    depth = 0
    for line in lines[lines.index(next(each for each in lines if each.startswith("kernel"))) :]:
        if "simd_" in line or "threadgroup_barrier" in line:
            assert depth == 1, line
        depth += line.count("{") - line.count("}")
    assert source.count("threadgroup float part") == 2
    assert source.count("threadgroup_barrier") == 2
    assert source.count("exp(") == 1


def test_one_subgroup_a_row_needs_no_barrier_and_guards_the_last_group():
    source = lower(row_sum(17, 257), ROWS).source
    assert "threadgroup_barrier" not in source
    assert "if (row < 17)" in source
    assert "if (row" not in lower(row_sum(16, 257), ROWS).source


def test_exact_widths_have_no_guard():
    source = lower(row_sum(128, 1024), ROWS).source
    assert "< 1024" not in source
    assert "< 1023" in lower(row_sum(128, 1023), ROWS).source


def test_lowering_leaves_the_function_as_it_was_and_repeats_itself():
    """B192."""
    function = tiled_rows(5, 6, 50)
    before = print_module(function.module)
    assert lower(function, ROWS) == lower(function, ROWS)
    assert print_module(function.module) == before


def test_a_matrix_product_is_no_row_program():
    """B112."""
    function = native_gemm((32, 32, 32), (32, 32), scope="subgroup")
    assert "a contraction is no add, max or min of a row" in str(refusal(function))
