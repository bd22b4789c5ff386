"""A row program to its artifact: proof, plan, text. MSL 3.0. Spec: Native SIMD-group reductions."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import Form, MetalArtifact
from tilewright.lowering.metal.device import MetalDevice, device_problems
from tilewright.lowering.metal.function_checks import MAX_THREADS, fault
from tilewright.lowering.metal.reductions.analysis import Row, row_program
from tilewright.lowering.metal.reductions.plan import Plan, PlannerOptions, plan, planner_problems
from tilewright.lowering.metal.reductions.rows import emit_rows
from tilewright.lowering.metal.signature import artifact_of
from tilewright.lowering.options import CompileOptions
from tilewright.problem import Problem
from tilewright.tileir.graph import Function

DEFAULT_MAX_THREADS = 256


def lower_rows(
    function: Function, options: CompileOptions, device: MetalDevice, planner: PlannerOptions | None = None
) -> MetalArtifact | list[Problem]:
    """The row program of a verified function, or why it is none.

    LoweringError for planner options that are wrong in themselves; they are a mistake of the caller on any kernel.
    """
    limits = planner_options(options, device) if planner is None else planner
    refused = [*planner_problems(limits), *conflicts(options, limits)]
    if refused:
        raise LoweringError(refused)
    proof = row_program(function)
    if not isinstance(proof, Row):
        return proof
    mapped = plan(proof.work, limits)
    chosen = mapped.chosen
    if chosen is None:
        return [no_mapping(function, mapped)]
    groups = -(-proof.work.programs // chosen.packing)
    problems = list(
        device_problems(
            function.name, device, metal4=False, subgroups=True, threads=chosen.threads, memory=chosen.shared_bytes
        )
    )
    if groups * chosen.threads > MAX_THREADS:
        what = f"{groups} threadgroups of {chosen.threads} threads: grid times threads overflows int32"
        problems.append(fault(function, what, "grid-overflow"))
    if problems:
        return problems
    try:
        source = emit_rows(function, proof, chosen, limits.unroll)
    except LoweringError as error:
        return list(error.problems)
    return artifact_of(
        function,
        options,
        source,
        (groups, 1, 1),
        (chosen.threads, 1, 1),
        f"metal SIMD-group rows, tree order: {chosen.subgroups} SIMD-groups a row, {chosen.packing} rows a "
        f"threadgroup, {chosen.striped_scalars} striped scalars a worker, {chosen.shared_bytes} shared bytes, "
        f"{unrolled(limits.unroll)}"
        f"uncalibrated score {chosen.score:g} of {len(mapped.candidates)} candidates, {len(mapped.rejected)} rejected",
        form=Form.ROWS,
        threadgroup_memory=chosen.shared_bytes,
    )


def planner_options(options: CompileOptions, device: MetalDevice) -> PlannerOptions:
    """The planner's limits on that device; an exact thread count may go beyond the default width."""
    most = min(DEFAULT_MAX_THREADS, device.max_threads)
    exact = options.threads_per_group
    return PlannerOptions(
        max_threads=max(most, exact),
        threadgroup_memory=device.threadgroup_memory,
        threads=exact,
        unroll=options.reduction_unroll,
    )


def conflicts(options: CompileOptions, planner: PlannerOptions) -> Iterator[Problem]:
    """B26: what was asked for in both places, and differs."""
    if options.threads_per_group not in (0, planner.threads):
        what = (
            f"Conflicting thread constraints: threads_per_group={options.threads_per_group} and threads="
            f"{planner.threads} of the planner"
        )
        yield Problem(what, hint=f"PlannerOptions(threads={options.threads_per_group})", rule="planner-threads")
    if options.reduction_unroll not in (0, planner.unroll):
        what = (
            f"Conflicting unroll constraints: reduction_unroll={options.reduction_unroll} and unroll={planner.unroll} "
            "of the planner"
        )
        yield Problem(what, hint=f"PlannerOptions(unroll={options.reduction_unroll})", rule="reduction-unroll")


def unrolled(factor: int) -> str:
    return f"loops unrolled by {factor}, " if factor > 1 else ""


def no_mapping(function: Function, mapped: Plan) -> Problem:
    """B117, B118: every candidate with its reason."""
    reasons = "; ".join(
        f"{each.subgroups} SIMD-groups, {each.packing} rows: {each.rejected}" for each in mapped.rejected
    )
    return fault(function, f"no mapping of the rows is legal: {reasons}", "row-plan", "use a shorter row")
