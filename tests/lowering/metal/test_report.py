"""The report of a check, which a build target prints and stores."""

from __future__ import annotations

import json
from dataclasses import replace

from lowering.metal.cases import MPP, ROWS, case
from lowering.metal.kernels import native_gemm, row_sum
from tilewright.lowering.metal.check.comparison import Case, compare, examine
from tilewright.lowering.metal.check.identity import check_identity
from tilewright.lowering.metal.check.programs import Variant, build
from tilewright.lowering.metal.check.report import check
from tilewright.lowering.metal.check.units import Msl


def test_a_check_of_good_kernels_passes_in_every_variant(clang, tmp_path):
    cases = [
        case("sum", row_sum(3, 100), ROWS, 1e-5),
        case("gemm", native_gemm((20, 20, 5), (16, 16)), MPP, 1e-4),
        case("large", row_sum(40, 600), ROWS, 1e-5),
    ]
    report = check(cases, clang, tmp_path)
    assert report.passed, report.text()
    parts = {(each.case, each.variant): each.part for each in report.evidence if each.part}
    assert parts == {("large", Variant.TSAN): "4 of 5 threadgroups"}
    *lines, summary = report.text().splitlines()
    assert len(lines) == len(report.evidence) == 9
    assert lines[0].startswith("sum [MSL, CPU-emulated, plain]: pass, ")
    assert summary.startswith("MSL, CPU-emulated, never compiled by Apple's compiler: 9 checks, all passed")
    assert lines[-1].startswith("large [MSL, CPU-emulated, tsan, 4 of 5 threadgroups]: pass, ")
    record = json.loads(report.to_json())
    assert record["passed"] is True
    assert record["checks"][0]["runs"] == 6
    assert [each["part"] for each in record["checks"] if each["part"]] == ["4 of 5 threadgroups"]


def test_a_wrong_kernel_fails_with_its_fault(clang, tmp_path):
    good = case("sum", row_sum(3, 100), ROWS, 1e-5)
    wrong = replace(good, artifact=replace(good.artifact, source=good.artifact.source.replace("0.0f;", "1.0f;", 1)))
    report = check([wrong], clang, tmp_path, variants=(Variant.PLAIN,))
    assert not report.passed
    assert "FAIL: wrong result in `y`" in report.text()
    assert "1 checks, 1 failed" in report.text()
    assert json.loads(report.to_json())["checks"][0]["faults"]


def test_a_part_of_a_launch_is_compared_where_it_wrote(clang, tmp_path):
    """One program a threadgroup: a fault of one shows only when that runs, which are the first ones and the last."""
    good = case("sum", row_sum(5, 1000), ROWS, 1e-5)
    assert good.artifact.grid == (5, 1, 1)

    def edited(old: str, new: str) -> Case:
        return replace(good, artifact=replace(good.artifact, source=good.artifact.source.replace(old, new, 1)))

    second, last = (edited("= 0.0f;", f"= float(group == {place});") for place in (1, 4))
    cases = [second, last, edited("p1[", "if (group > 5) p1[")]
    program = build(clang, [Msl.of(each.artifact) for each in cases], tmp_path)
    alone = compare(program, 0, second, tmp_path, groups=1)
    assert alone.passed
    assert alone.part == "1 of 5 threadgroups"
    assert compare(program, 0, second, tmp_path, groups=2).passed
    assert compare(program, 1, last, tmp_path, groups=1).passed
    for number, groups in ((0, 0), (0, 3), (0, 5), (1, 2), (1, 3)):
        found = compare(program, number, cases[number], tmp_path, groups=groups)
        assert "wrong result in `y`" in found.faults[0], (number, groups)
    assert compare(program, 2, cases[2], tmp_path, groups=1).faults == ("the threadgroups that ran wrote nothing",)


def test_the_last_threadgroup_of_a_large_launch_is_raced(clang, tmp_path):
    """It is the ragged one. Here it alone lacks a barrier, which results do not show."""
    good = case("sum", row_sum(9, 4096), ROWS, 1e-5)
    assert (good.artifact.grid, good.artifact.block) == ((9, 1, 1), (256, 1, 1))
    barrier = "  threadgroup_barrier("
    assert good.artifact.source.count(barrier) == 1
    source = good.artifact.source.replace(barrier, "  if (group != 8) threadgroup_barrier(")
    wrong = replace(good, artifact=replace(good.artifact, source=source))
    texts = [Msl.of(each.artifact) for each in (good, wrong)]
    program = build(clang, texts, tmp_path, Variant.TSAN)
    passed, raced = (examine(program, number, each, tmp_path) for number, each in enumerate((good, wrong)))
    assert passed.passed
    assert passed.part == raced.part == "4 of 9 threadgroups"
    assert "data race" in raced.faults[0]


def test_views_of_one_buffer_have_bands_between_them(clang, tmp_path):
    good = replace(case("gemm", native_gemm((20, 20, 5), (16, 16)), MPP, 1e-4), one_buffer=True)
    band = "  if (group_index == 0) { p2[-3] = 1.0f; }\n}\n"
    assert good.artifact.source.endswith("\n}\n")
    wrong = replace(good.artifact, source=good.artifact.source.removesuffix("}\n") + band)
    cases = [good, replace(good, artifact=wrong)]
    program = build(clang, [Msl.of(each.artifact) for each in cases], tmp_path)
    assert compare(program, 0, good, tmp_path).passed
    found = compare(program, 1, cases[1], tmp_path)
    assert "guard band of `b` was written" in found.faults
    assert "guard band of `c` was written" in found.faults


def test_the_identity_of_a_check_has_the_compiler_and_no_path(clang):
    identity = check_identity(clang)
    assert identity == check_identity(clang)
    assert identity.startswith(f"clang {clang.version} ")
    assert check_identity(replace(clang, version=99)) != identity
    assert "/" not in identity
