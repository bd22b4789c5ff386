"""The check finds what is wrong: one fault put into emitted MSL at a time. Evidence: "MSL, CPU-emulated"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lowering.metal.cases import MPP, ROWS, case, unrolled
from lowering.metal.kernels import native_gemm
from tile import kernels as dsl
from tileir import kernels as built_kernels
from tilewright.lowering.metal.check.comparison import Case
from tilewright.lowering.metal.check.mutation import Mutation, findings, mutant
from tilewright.lowering.metal.check.programs import Program, Variant
from tilewright.lowering.options import CompileOptions


def negative(random: np.random.Generator) -> np.ndarray:
    """Rows without a positive element: the identity of max matters."""
    return -1.0 - random.random((3, 1000))


def outside(random: np.random.Generator) -> np.ndarray:
    """Labels of which two are no class: the gather is guarded."""
    return np.array([1000000, 7, -1000000])


def bases() -> dict[str, Case]:
    """The kernels that are mutated."""
    softmax = dsl.softmax.capture((3, 1000), (3, 1000)).function
    extrema = dsl.row_extrema.capture((3, 1000), (3,), (3,)).function
    packed = dsl.row_sum.capture((3, 50), (3,)).function
    pairs = CompileOptions(subgroup_reductions=True, threads_per_group=64)
    flips = native_gemm((37, 53, 23), (32, 16), flips=(True, False))
    loss = dsl.cross_entropy.capture((3, 300), (3,), (3,)).function
    return {
        "softmax": case("softmax", softmax, ROWS, 5e-5),
        "extrema": case("extrema", extrema, ROWS, 1e-6, {"x": negative}),
        "packed": case("packed", packed, pairs, 5e-5),
        "loss": case("loss", loss, ROWS, 5e-5, {"label": outside}),
        "unrolled": case("unrolled", softmax, unrolled(3), 5e-5),
        "gemm": case("gemm", native_gemm((37, 53, 23), (32, 16)), MPP, 1e-4),
        "flipped": case("flipped", flips, MPP, 1e-4),
        "result": case("result", native_gemm((37, 53, 23), (32, 16), flipped_result=True), MPP, 1e-4),
        "cohort": case("cohort", native_gemm((37, 53, 23), (16, 16), cohort=(2, 2)), MPP, 1e-4),
        "loops": case("loops", built_kernels.gemm(), CompileOptions(), 2e-5),
        "rows": case("rows", built_kernels.softmax(17, 7), CompileOptions(), 2e-5),
        "swap": case("swap", built_kernels.recurrence(), CompileOptions(), 2e-5),
        "clipped": case("clipped", built_kernels.axpb(1003, 64), CompileOptions(), 2e-5),
    }


BARRIER = r"  threadgroup_barrier\(mem_flags::mem_threadgroup\);\n"
ZEROING = r"sum\[i\] = 0\.0f;"
REST = r"(  const int e\d+ = 6 \* 128 \+ worker;\n)(  \{\n(?:    .*\n)+  \}\n)"
"""The chunk after an unrolled loop, of each domain in turn: maximum, stripe, sum, store."""

MUTATIONS = {
    "softmax": (
        (Mutation("first barrier removed", BARRIER, ""), {"TSan"}),
        (Mutation("second barrier removed", BARRIER, "", 1), {"TSan"}),
        (Mutation("barrier without memory", "mem_flags::mem_threadgroup", "mem_flags::mem_none"), {"TSan"}),
        (Mutation("bound widened", r"< 1000\)", "<= 1000)", 1), {"ASan"}),
        (Mutation("store bound widened", r"< 1000\)", "<= 1000)", 3), {"guard band", "TSan"}),
        (Mutation("guard missing", r"if \(e\d+ < 1000\) \{", "{", -1), {"ASan"}),
        (Mutation("barrier in a branch", r"(  threadgroup_barrier.*)", r"if (worker < 32) {\1}"), {"scheduler"}),
        (
            Mutation("collective in a branch", r"(  r\d+ = simd_max\(r\d+\);)", r"if (worker % 2 == 0) {\1}"),
            {"scheduler"},
        ),
        (Mutation("sum for max", r"simd_max\(lane", "simd_sum(lane"), {"result"}),
        (Mutation("stride of workers", r"k(\d+) \* 128", r"k\1 * 64", 3), {"result", "TSan"}),
        (Mutation("stripe too short", r"float (t\d+)\[8\]", r"float \1[7]"), {"UBSan"}),
        (Mutation("partials too short", r"threadgroup float part0\[4\]", "threadgroup float part0[2]"), {"UBSan"}),
        (Mutation("shared partials", r"part1\[(lane|subgroup)", r"part0[\1", -1), {"TSan"}),
        (Mutation("partial by every lane", r"if \(lane == 0\) (\{ part0)", r"\1"), {"TSan"}),
        (Mutation("partial of another subgroup", r"part1\[subgroup\]", "part1[0]"), {"result"}),
        (Mutation("wrong identity of a worker", r"float (r\d+) = 0\.0f;", r"float \1 = 1.0f;"), {"result"}),
        (Mutation("wrong identity of a lane", r"part1\[lane\] : 0\.0f", "part1[lane] : 1.0f"), {"result"}),
        (Mutation("strides swapped", r"p0\[(v\d+) \* 1000 \+ (e\d+)\]", r"p0[\2 * 3 + \1]", -1), {"result"}),
    ),
    "extrema": (
        (Mutation("wrong identity of max", r"0xff800000u", "0x00000000u", -1), {"result"}),
        (Mutation("wrong identity of min", r"0x7f800000u", "0xff800000u", -1), {"result"}),
        (Mutation("min for max", r"simd_max", "simd_min", -1), {"result"}),
        (Mutation("store by every worker", r"if \(worker < 1\) \{", "{"), {"TSan"}),
    ),
    "packed": (
        (Mutation("program guard missing", r"if \(row < 3\) \{", "{"), {"ASan"}),
        (Mutation("program number", r"int\(group\) \* 2", "int(group) * 1"), {"TSan"}),
        (Mutation("a lane left out", r"simd_sum\(r", "simd_sum(lane == 31 ? 0.0f : r"), {"result"}),
    ),
    "loss": (
        (Mutation("gather unguarded", r"\(v\d+ \? (p0\[[^\]]+\]) : 0\.0f\)", r"\1"), {"ASan", "guard page"}),
        (Mutation("half of the guard", r"\((v\d+) && v\d+\)", r"\1"), {"ASan", "guard page"}),
        (Mutation("class of another row", r"p0\[row \* 300 \+ v0\]", "p0[row * 299 + v0]"), {"result"}),
    ),
    "unrolled": (
        (Mutation("rest dropped from a sum", REST, "", 2), {"result"}),
        (Mutation("rest dropped from a store", REST, "", 3), {"result"}),
        (Mutation("rest of a sum taken twice", REST, r"\1\2\2", 2), {"result"}),
        (Mutation("chunk of the rest", r"= 7 \* 128", "= 6 * 128", 3), {"result"}),
        (Mutation("guard of the rest missing", r"if \(e\d+ < 1000\) \{", "{", -1), {"ASan"}),
        (Mutation("loop over the rest, too", r"< 6; k", "< 8; k"), {"ASan"}),
        (Mutation("step of the loop", r"\+= 3\)", "+= 2)", 2), {"result"}),
        (Mutation("copy of a chunk", r"\((k\d+) \+ 1\) \* 128", r"(\1 + 2) * 128", 3), {"result"}),
        (Mutation("slot of a copy", r"(t\d+)\[(k\d+) \+ 1\] =", r"\1[\2] ="), {"result"}),
        (Mutation("barrier removed", BARRIER, "", 1), {"TSan"}),
    ),
    "gemm": (
        (Mutation("zeroing dropped", ZEROING, "", -1), {"result"}),
        (Mutation("edge zeroing dropped", ZEROING, "", 1), {"result"}),
        (
            Mutation("zeroing assumes a layout", r"i < sum\.get_capacity\(\)", "i < sum.get_capacity() - 2", -1),
            {"result"},
        ),
        (
            Mutation(
                "strides swapped", r"(ta\(a, dextents<int, 2>\()23, 37(\), array<int, 2>\{1, )23", r"\g<1>37, 23\g<2>37"
            ),
            {"run-time check"},
        ),
        (Mutation("leading dimension", r"array<int, 2>\{1, 53\}", "array<int, 2>{1, 54}", 1), {"ASan"}),
        (
            Mutation("static slice at an edge", r"ta\.slice\(0, row\)", "ta.slice<dynamic_extent, 32>(0, row)"),
            {"run-time check"},
        ),
        (
            Mutation("static result at an edge", r"tc\.slice\(column, row\)", "tc.slice<16, 32>(column, row)"),
            {"run-time check"},
        ),
        (Mutation("interior widened", r"row <= 5 && column <= 37", "row <= 37 && column <= 53"), {"run-time check"}),
        (
            Mutation("transpose flipped", "length_v<int>, false, false", "length_v<int>, true, false"),
            {"run-time check"},
        ),
        (Mutation("wrong scope", "execution_simdgroups<4>", "execution_simdgroups<2>"), {"run-time check"}),
        (Mutation("one subgroup for the group", "execution_simdgroups<4>", "execution_simdgroups<1>"), {"TSan"}),
        (
            Mutation(
                "one reading of the mode", r"multiply_accumulate\);", "multiply);", also=Mutation("", ZEROING, "", -1)
            ),
            {"result"},
        ),
        (Mutation("static K over a tail", r"ops::dynamic_length_v<int>", "32"), {"run-time check"}),
        (Mutation("K shortened", r"(ta\(a, dextents<int, 2>\()23", r"\g<1>22"), {"run-time check"}),
        (
            Mutation(
                "product in a branch",
                r"op\.run\(left, right, sum\);",
                "if (sum.is_valid_element(0)) { op.run(left, right, sum); }",
                -1,
            ),
            {"scheduler"},
        ),
        (Mutation("rows for columns", r"tc\.slice\(column, row\)", "tc.slice(row, column)"), {"run-time check"}),
        (
            Mutation("second operand for first", r"op\.run\(left, right, sum\)", "op.run(right, left, sum)"),
            {"run-time check"},
        ),
    ),
    "flipped": (
        (
            Mutation("transpose dropped", "length_v<int>, true, false", "length_v<int>, false, false"),
            {"run-time check"},
        ),
    ),
    "result": (
        (
            Mutation("result by rows", r"tc\(c, dextents<int, 2>\(37, 53\)", "tc(c, dextents<int, 2>(53, 37)"),
            {"run-time check"},
        ),
        (
            Mutation(
                "operands not exchanged",
                "atom0\\(p1, p0",
                "atom0(p0, p1",
                also=Mutation("", "true, true", "false, false"),
            ),
            {"run-time check"},
        ),
        (Mutation("stride of the result", r"array<int, 2>\{1, 37\}", "array<int, 2>{1, 38}"), {"ASan"}),
        (Mutation("zeroing dropped", ZEROING, "", -1), {"result"}),
        (Mutation("interior widened", r"row <= 37 && column <= 5", "row <= 53 && column <= 37"), {"run-time check"}),
    ),
    "cohort": (
        (Mutation("cohort origin", r"subgroup / 2", "subgroup / 4", -1), {"result"}),
        (Mutation("subgroup left out", r"  atom0\(p0", "  if (subgroup != 3) atom0(p0"), {"result"}),
        (
            Mutation(
                "early return missing",
                r"if \(row >= 37 \|\| column >= 53\) \{ return; \}",
                "if (row > 999) { return; }",
            ),
            {"run-time check"},
        ),
    ),
    "loops": (
        (Mutation("load guard missing", r"\(v\d+ \+ i\d+\) < 13 && (\(v\d+ \+ i\d+\) < 19)", r"\1"), {"ASan"}),
        (
            Mutation("store guard missing", r"if \(\(v\d+ \+ i\d+\) < 17 && (\(v\d+ \+ i\d+\) < 19)\)", r"if (\1)"),
            {"guard page"},
        ),
        (Mutation("bound widened", r"< 4; \+\+", "<= 4; ++", 1), {"result"}),
        (Mutation("operands of a stride swapped", r"\* 19 \+", "* 13 +", -1), {"result"}),
    ),
    "rows": ((Mutation("thread guard missing", r"if \(linear < 17u\) \{", "{"), {"ASan", "guard page"}),),
    "swap": (
        (Mutation("carries one after the other", r"(c\d+\[0\]) = \(?n?t?(\w+)\[0\]\)?;", r"\1 = \1;"), {"result"}),
    ),
    "clipped": (
        (Mutation("store guard missing", r"if \(\(v\d+ \+ i\d+\) < 1003\) ", ""), {"guard page"}),
        (Mutation("load guard missing", r"\(v\d+ \+ i\d+\) < 1003 \? (p0\[[^\]]+\]) : 0\.0f", r"\1"), {"ASan"}),
    ),
}
"""For each base: mutations, and finders that must be among those that find it."""


KINDS = {
    "removed barrier": (("softmax", "first barrier removed"), ("unrolled", "barrier removed")),
    "widened bound": (("softmax", "bound widened"), ("gemm", "interior widened"), ("result", "interior widened")),
    "dropped zeroing": (("gemm", "zeroing dropped"), ("gemm", "edge zeroing dropped"), ("result", "zeroing dropped")),
    "swapped strides": (("softmax", "strides swapped"), ("gemm", "strides swapped"), ("result", "result by rows")),
    "static slice at an edge": (("gemm", "static slice at an edge"), ("gemm", "static result at an edge")),
    "missing guard": (("softmax", "guard missing"), ("loss", "gather unguarded"), ("cohort", "early return missing")),
    "wrong identity": (("extrema", "wrong identity of max"), ("softmax", "wrong identity of a worker")),
    "rest of a loop": (("unrolled", "rest dropped from a sum"), ("gemm", "static K over a tail")),
}
"""Every kind of fault, by kernels of rows and of native products where it can be made: the latter have no barrier."""


def test_every_kind_of_fault_is_made():
    made = {(base, mutation.name) for base, rows in MUTATIONS.items() for mutation, _ in rows}
    assert {each for places in KINDS.values() for each in places} <= made


@pytest.fixture(scope="module")
def mutants() -> list[tuple[Case, set[str]]]:
    kernels = bases()
    return [(mutant(kernels[base], mutation), wanted) for base, rows in MUTATIONS.items() for mutation, wanted in rows]


def unsymbolized(program: Program, folder: Path) -> tuple[Program, Path]:
    """Findings are counted here, not read: lines would cost most of the time."""
    return replace(program, clang=replace(program.clang, symbolizer=None)), folder


def test_every_mutant_is_found(mutants, built):
    cases = [case for case, _ in mutants]
    programs = [unsymbolized(*built("mutants", cases, variant)) for variant in Variant]
    found = findings(cases, programs)
    print("\n".join(map(str, found)))
    missed = [str(each) for each in found if not each.finders]
    other = [
        f"{each}, not {wanted}"
        for each, (_, wanted) in zip(found, mutants, strict=True)
        if not wanted <= set(each.finders)
    ]
    assert missed == []
    assert other == []
