"""How many SIMD-groups share a row, or how many rows a threadgroup packs: an exhaustive search over a finite cost.

The costs are uncalibrated numbers without a unit. They rank candidates; they never make one legal or illegal (B204).
Spec: Native SIMD-group reductions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.lowering.metal.device import SIMD_WIDTH
from tilewright.problem import Problem

SUBGROUPS = (1, 2, 4, 8)
PARTIAL_BYTES = 4
MAX_UNROLL = 16


@dataclass(frozen=True, slots=True)
class Work:
    """What one row program does: elements of every domain it walks, its reductions, elements of striped tiles.

    A domain is a reduction, a stored tile, a store, or a single element read (one element).
    """

    programs: int
    domains: tuple[int, ...]
    reductions: int
    striped: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannerOptions:
    """`threads`, `subgroups`, `packing` and `unroll` are exact when not 0. The three costs weigh a chunk of a domain,
    a reduction over one SIMD-group, and a threadgroup that holds one row. `unroll`: chunks that an iteration of a loop
    takes, one after the other into the same accumulator; a loop of one such iteration is written out."""

    max_threads: int = 256
    threadgroup_memory: int = 32768
    max_reduction_striped_scalars_per_worker: int = 64
    max_candidates: int = 32
    threads: int = 0
    subgroups: int = 0
    packing: int = 0
    unroll: int = 0
    chunk_cost: float = 1.0
    reduction_cost: float = 2.0
    threadgroup_cost: float = 16.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """One mapping: `subgroups` a row, `packing` rows a threadgroup. `rejected` says why it is illegal ("" = legal)."""

    subgroups: int
    packing: int
    shared_bytes: int
    striped_scalars: int
    score: float
    rejected: str = ""

    @property
    def threads(self) -> int:
        """Of a threadgroup."""
        return SIMD_WIDTH * self.subgroups * self.packing

    @property
    def workers(self) -> int:
        """Lanes that share a row."""
        return SIMD_WIDTH * self.subgroups


@dataclass(frozen=True, slots=True)
class Plan:
    """The cheapest legal candidate, the smaller width on a tie (None: none is legal), and all that were looked at."""

    chosen: Candidate | None
    candidates: tuple[Candidate, ...]

    @property
    def rejected(self) -> tuple[Candidate, ...]:
        return tuple(each for each in self.candidates if each.rejected)


def plan(work: Work, options: PlannerOptions = PlannerOptions()) -> Plan:
    """Every candidate, the illegal ones with their reason. 64 rows of softmax over 4096 elements take 8 SIMD-groups."""
    candidates = tuple(
        candidate(work, options, subgroups, packing)
        for subgroups in SUBGROUPS
        for packing in packings(work, options, subgroups)
    )
    legal = [each for each in candidates if not each.rejected]
    return Plan(min(legal, key=lambda each: (each.score, each.subgroups)) if legal else None, candidates)


def packings(work: Work, options: PlannerOptions, subgroups: int) -> tuple[int, ...]:
    """Rows a threadgroup may hold: powers of two, one where SIMD-groups cooperate."""
    if subgroups > 1:
        return (1,)
    most = max(1, min(work.programs, options.max_threads // SIMD_WIDTH))
    return tuple(2**power for power in range(most.bit_length()))


def candidate(work: Work, options: PlannerOptions, subgroups: int, packing: int) -> Candidate:
    """One mapping with its resources; scored only when it is legal."""
    workers = SIMD_WIDTH * subgroups
    shared = work.reductions * subgroups * PARTIAL_BYTES if subgroups > 1 else 0
    striped = sum(-(-elements // workers) for elements in work.striped)
    chunks = sum(-(-elements // workers) for elements in work.domains)
    score = (
        options.chunk_cost * chunks
        + options.reduction_cost * work.reductions * subgroups
        + options.threadgroup_cost / packing
    )
    return Candidate(
        subgroups, packing, shared, striped, score, rejection(options, subgroups, packing, shared, striped)
    )


def rejection(options: PlannerOptions, subgroups: int, packing: int, shared: int, striped: int) -> str:
    """B117, B118: why a mapping is illegal, before it has a score."""
    threads = SIMD_WIDTH * subgroups * packing
    if threads > options.max_threads:
        return f"{threads} threads exceed the {options.max_threads} of a threadgroup"
    if options.threads and threads != options.threads:
        return f"packing {packing} x {subgroups} x {SIMD_WIDTH} is not the exact {options.threads} threads"
    if options.subgroups and subgroups != options.subgroups:
        return f"{subgroups} SIMD-groups are not the exact {options.subgroups}"
    if options.packing and packing != options.packing:
        return f"{packing} rows a threadgroup are not the exact {options.packing}"
    if shared > options.threadgroup_memory:
        return f"{shared} bytes of partials exceed the {options.threadgroup_memory} of a threadgroup"
    if striped > options.max_reduction_striped_scalars_per_worker:
        budget = options.max_reduction_striped_scalars_per_worker
        return f"{striped} striped scalars a worker exceed the budget of {budget}"
    return ""


def planner_problems(options: PlannerOptions) -> Iterator[Problem]:
    """B118, B119."""
    costs = {name: getattr(options, name) for name in ("chunk_cost", "reduction_cost", "threadgroup_cost")}
    for name, cost in costs.items():
        if not math.isfinite(cost) or cost < 0:
            what = f"planner cost {name}={cost} is not finite and nonnegative"
            yield Problem(what, hint=f"leave `{name}` out", rule="planner-costs")
    needed = len(SUBGROUPS) - 1 + max(1, options.max_threads // SIMD_WIDTH).bit_length()
    if options.max_candidates < needed:
        what = f"the search budget of {options.max_candidates} candidates is below the {needed} there may be"
        yield Problem(what, hint=f"max_candidates={needed}", rule="planner-budget")
    if options.threads % SIMD_WIDTH:
        what = f"{options.threads} threads are not a multiple of {SIMD_WIDTH}"
        yield Problem(what, hint="threads=0 lets the planner choose", rule="threads-not-whole-subgroups")
    if options.max_threads < SIMD_WIDTH:
        yield Problem(
            f"a threadgroup of at most {options.max_threads} threads holds no SIMD-group", rule="planner-limits"
        )
    fault = unroll_fault("unroll", options.unroll)
    if fault:
        yield fault


def unroll_fault(name: str, factor: object) -> Problem | None:
    """What is wrong with an unroll factor that an option of that name holds."""
    if isinstance(factor, int) and not isinstance(factor, bool) and 0 <= factor <= MAX_UNROLL:
        return None
    what = f"{name}={factor!r} is not an integer of 1 to {MAX_UNROLL}"
    return Problem(what, hint=f"{name}=4, or 0 for loops of one chunk an iteration", rule="reduction-unroll")
