"""What the MSL check runs: the evidence kernels in each form, with shapes and tolerances."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from lowering.evidence_cases import cases as shared_cases
from lowering.metal.kernels import counted_rows, label_gather, native_gemm, row_sum, tiled_rows, two_products
from lowering.metal.random_rows import random_row_program
from lowering.random_programs import random_program
from tile import kernels as dsl
from tileir import kernels as built
from tilewright.lowering.metal.check.comparison import Case, Inputs
from tilewright.lowering.metal.lower import lower
from tilewright.lowering.options import CompileOptions
from tilewright.tileir.graph import Function
from tilewright.tileir.types import Element, element_of

ROWS = CompileOptions(subgroup_reductions=True)
MPP = CompileOptions(metal_mpp=True)
RANDOM_PROGRAMS = 40
RANDOM_ROWS = 24
PARTS = ("gemm-32", "gemm-ragged", "gemm-cohort2x2")
"""Products that also run with all views in one buffer."""


def labels(rows: int, columns: int) -> Inputs:
    """Classes, of which some are none: the gather is guarded."""
    return {"label": lambda random: random.integers(-2, columns + 4, rows)}


def case(
    name: str, function: Function, options: CompileOptions, tolerance: float, inputs: Inputs | None = None
) -> Case:
    return Case(name, function, lower(function, options), tolerance, inputs or {})


def unrolled(factor: int) -> CompileOptions:
    return CompileOptions(subgroup_reductions=True, reduction_unroll=factor)


def has_double(function: Function) -> bool:
    """Metal has no f64; the refusal has a test of its own."""
    return any(element_of(each.type) is Element.F64 for operation in function.walk() for each in operation.results)


@cache
def reference_cases() -> tuple[Case, ...]:
    """The shared evidence kernels, guarded integer gathers, and random programs, one program a thread."""
    captured = [(each, each.capture()) for each in shared_cases()]
    evidence = [
        case(each.name, function, CompileOptions(threads_per_group=each.threads), each.tolerance, each.inputs)
        for each, function in captured
        if not has_double(function)
    ]
    assert len(captured) - len(evidence) < 4
    wild = [random_program(seed) for seed in range(RANDOM_PROGRAMS)]
    gather: Inputs = {"label": lambda _: np.array([0, 7, -1, 8, 3])}
    loss = dsl.cross_entropy.capture((7, 4096), (7,), (7,)).function
    return (
        *evidence,
        case("gather", built.gather(), CompileOptions(), 1e-6, gather),
        case("cross_entropy-7x4096", loss, CompileOptions(), 5e-5, labels(7, 4096)),
        *(case(each.name, each, CompileOptions(), 1e-4) for each in wild),
    )


@cache
def row_cases() -> tuple[Case, ...]:
    """Row programs at the widths of the suite: packed, cooperating, ragged, single, over two axes."""
    found: list[Case] = []
    for columns, rows in ((127, 1), (127, 17), (257, 17), (1024, 9), (4096, 3)):
        shape, weight = (rows, columns), (columns,)
        for name, definition, shapes in (
            ("sum", dsl.row_sum, (shape, (rows,))),
            ("extrema", dsl.row_extrema, (shape, (rows,), (rows,))),
            ("softmax", dsl.softmax, (shape, shape)),
            ("masked", dsl.masked_softmax, (shape, shape)),
            ("rms_norm", dsl.rms_norm, (shape, weight, shape)),
            ("layer_norm", dsl.layer_norm, (shape, weight, weight, shape)),
        ):
            found.append(case(f"{name}-{rows}x{columns}", definition.capture(*shapes).function, ROWS, 5e-5))
    for rows, columns in ((1, 127), (17, 257), (9, 1024), (7, 4096)):
        loss = dsl.cross_entropy.capture((rows, columns), (rows,), (rows,)).function
        found.append(case(f"cross_entropy-{rows}x{columns}", loss, ROWS, 5e-5, labels(rows, columns)))
    wild = [random_row_program(seed) for seed in range(RANDOM_ROWS)]
    picked: Inputs = {"label": lambda random: random.integers(0, 300, 5)}
    return (
        *found,
        case("softmax-17x1", built.softmax(17, 1), ROWS, 2e-5),
        case("softmax-17x7", built.softmax(17, 7), ROWS, 2e-5),
        case("extrema-7x1024", dsl.row_extrema.capture((7, 1024), (7,), (7,)).function, ROWS, 5e-5),
        case("label-5x300", label_gather(5, 300, forwarded=True), ROWS, 5e-5, picked),
        case("blocks-5x6x50", tiled_rows(5, 6, 50), ROWS, 2e-5),
        case("unrolled-softmax-3x1000", dsl.softmax.capture((3, 1000), (3, 1000)).function, unrolled(3), 5e-5),
        case("unrolled-blocks-5x6x50", tiled_rows(5, 6, 50), unrolled(4), 2e-5),
        *(case(each.name, each, unrolled(seed % 5), 1e-4) for seed, each in enumerate(wild)),
        case("counted-3x70", counted_rows(3, 70), ROWS, 1e-6),
        case("counted-loop-3x70", counted_rows(3, 70), CompileOptions(), 1e-6),
        case("explicit-9x65", row_sum(9, 65, "subgroup"), ROWS, 2e-5),
        case(
            "wide-group-3x600", row_sum(3, 600), CompileOptions(subgroup_reductions=True, threads_per_group=256), 5e-5
        ),
    )


@cache
def native_cases() -> tuple[Case, ...]:
    """Native matrix products: interior, ragged, cohorts, the eight orientations of operands and result, two maps in one
    kernel, views of one buffer."""
    letters = {False: "n", True: "t"}
    flips = [(a, b, c) for a in letters for b in letters for c in letters]
    sizes = [
        ("32", (32, 32, 32), (32, 32), None),
        ("ragged", (127, 193, 61), (64, 64), None),
        ("k1", (16, 17, 1), (16, 32), None),
        ("cohort4x1", (128, 128, 128), (32, 32), (4, 1)),
        ("cohort2x2", (37, 29, 23), (16, 32), (2, 2)),
        ("cohort1x8", (129, 67, 61), (32, 16), (1, 8)),
        ("small", (5, 3, 2), (8, 16), None),
    ]
    shaped = [
        case(f"gemm-{name}", native_gemm(shape, block, cohort=cohort), MPP, 1e-4)
        for name, shape, block, cohort in sizes
    ]
    return (
        *shaped,
        *(replace(each, name=f"{each.name}-one-buffer", one_buffer=True) for each in shaped if each.name in PARTS),
        *(
            case(
                f"gemm-{letters[a]}{letters[b]}{letters[c]}",
                native_gemm((37, 53, 23), (32, 16), flips=(a, b), flipped_result=c),
                MPP,
                1e-4,
            )
            for a, b, c in flips
        ),
        case(
            "gemm-cohort-ttt",
            native_gemm((37, 29, 23), (16, 32), cohort=(2, 2), flips=(True, True), flipped_result=True),
            MPP,
            1e-4,
        ),
        case("two-products", two_products(), MPP, 1e-4),
    )
