"""The report of a check, which a build target prints and stores."""

from __future__ import annotations

import json
from dataclasses import replace

from lowering.metal.cases import MPP, ROWS, case
from lowering.metal.kernels import native_gemm, row_sum
from tilewright.lowering.metal.check.identity import check_identity
from tilewright.lowering.metal.check.programs import Variant
from tilewright.lowering.metal.check.report import check


def test_a_check_of_good_kernels_passes_in_every_variant(clang, tmp_path):
    cases = [
        case("sum", row_sum(3, 100), ROWS, 1e-5),
        case("gemm", native_gemm((20, 20, 5), (16, 16)), MPP, 1e-4),
        case("large", row_sum(40, 600), ROWS, 1e-5),
    ]
    report = check(cases, clang, tmp_path)
    assert report.passed, report.text()
    assert report.not_raced == ("large",)
    assert [each.variant for each in report.evidence].count(Variant.TSAN) == 2
    *lines, summary = report.text().splitlines()
    assert len(lines) == len(report.evidence) == 8
    assert lines[0].startswith("sum [MSL, CPU-emulated, plain]: pass, ")
    assert summary.startswith("MSL, CPU-emulated, never compiled by Apple's compiler: 8 checks, all passed")
    assert "too large for tsan: large" in summary
    record = json.loads(report.to_json())
    assert record["passed"] is True
    assert record["checks"][0]["runs"] == 6


def test_a_wrong_kernel_fails_with_its_fault(clang, tmp_path):
    good = case("sum", row_sum(3, 100), ROWS, 1e-5)
    wrong = replace(good, artifact=replace(good.artifact, source=good.artifact.source.replace("0.0f;", "1.0f;", 1)))
    report = check([wrong], clang, tmp_path, variants=(Variant.PLAIN,))
    assert not report.passed
    assert "FAIL: wrong result in `y`" in report.text()
    assert "1 checks, 1 failed" in report.text()
    assert json.loads(report.to_json())["checks"][0]["faults"]


def test_the_identity_of_a_check_has_the_compiler_and_no_path(clang):
    identity = check_identity(clang)
    assert identity == check_identity(clang)
    assert identity.startswith(f"clang {clang.version} ")
    assert check_identity(replace(clang, version=99)) != identity
    assert "/" not in identity
