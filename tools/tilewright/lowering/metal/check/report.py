"""The check of a set of kernels as one function: type check, plain runs, sanitizers, one report."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tilewright.lowering.metal.check.clang import Clang
from tilewright.lowering.metal.check.comparison import Case, Evidence, examine
from tilewright.lowering.metal.check.programs import LABEL, Variant, build, type_check
from tilewright.lowering.metal.check.units import Msl


@dataclass(frozen=True, slots=True)
class Report:
    """All evidence of a check. `seconds` is what it took; it is in the text, not in the JSON."""

    evidence: tuple[Evidence, ...]
    clang: int
    seconds: float

    @property
    def passed(self) -> bool:
        return all(each.passed for each in self.evidence)

    def text(self) -> str:
        """One line an evidence, and a last one that says what it is worth."""
        failed = sum(not each.passed for each in self.evidence)
        verdict = f"{failed} failed" if failed else "all passed"
        summary = f"{len(self.evidence)} checks, {verdict}, {self.seconds:.1f} s, clang {self.clang}"
        return "\n".join([*map(str, self.evidence), f"{LABEL}, never compiled by Apple's compiler: {summary}", ""])

    def to_json(self) -> bytes:
        """The evidence without times; final newline."""
        rows = [
            {
                "kernel": each.case,
                "variant": each.variant.value,
                "label": each.label,
                "part": each.part,
                "passed": each.passed,
                "runs": each.runs,
                "worst_share_of_tolerance": float(f"{each.worst:.3g}"),
                "faults": each.faults,
            }
            for each in self.evidence
        ]
        record = {
            "label": LABEL,
            "clang": self.clang,
            "passed": self.passed,
            "checks": rows,
        }
        return (json.dumps(record, indent=2) + "\n").encode()


def check(cases: Sequence[Case], clang: Clang, folder: Path, *, variants: Sequence[Variant] = tuple(Variant)) -> Report:
    """Checks kernels in an empty folder, each as `examine` does.

    LoweringError when clang refuses a text; a failed comparison is in the report.
    """
    started = time.monotonic()
    texts = [Msl.of(case.artifact, f"{case.name}.metal") for case in cases]
    type_check(clang, texts, folder)
    found: list[Evidence] = []
    for variant in variants:
        program = build(clang, texts, folder, variant)
        for number, case in enumerate(cases):
            found.append(examine(program, number, case, folder))
    return Report(tuple(found), clang.version, time.monotonic() - started)
