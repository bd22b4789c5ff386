"""Faults put into MSL on purpose, to prove the check: every mutant has to be found, and the report says by what."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.lowering.metal.check.comparison import Case, Evidence, examine
from tilewright.lowering.metal.check.programs import Program

FINDERS = (
    ("is not reached by", "scheduler"),
    ("access outside a buffer", "guard page"),
    ("guard band", "guard band"),
    ("undefined behaviour in MSL", "run-time check"),
    ("starts outside a tensor", "run-time check"),
    ("runs on", "run-time check"),
    ("K is", "run-time check"),
    ("threadgroup storage", "run-time check"),
    ("ThreadSanitizer", "TSan"),
    ("AddressSanitizer", "ASan"),
    ("runtime error", "UBSan"),
    ("wrong result", "result"),
)
"""Words of a fault, and what that kind of finding is called."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """An edit of emitted MSL: the `place`-th match of a pattern, and what stands there instead (`place` -1: all).

    `also` is a second edit of the same mutant.
    """

    name: str
    pattern: str
    replacement: str
    place: int = 0
    also: Mutation | None = None

    def apply(self, source: str) -> str:
        """The mutated text; AssertionError when the emitter no longer writes what the mutation is about."""
        matches = list(re.finditer(self.pattern, source, re.MULTILINE))
        assert len(matches) > max(self.place, 0), f"{self.name}: nothing matches {self.pattern}"  # noqa: S101
        chosen = matches if self.place < 0 else [matches[self.place]]
        for match in reversed(chosen):
            source = source[: match.start()] + match.expand(self.replacement) + source[match.end() :]
        return self.also.apply(source) if self.also else source


@dataclass(frozen=True, slots=True)
class Finding:
    """A mutant, and what found it; nothing means that the check let it pass."""

    name: str
    finders: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}: {', '.join(self.finders) or 'NOT FOUND'}"


def mutant(case: Case, mutation: Mutation) -> Case:
    """The case with mutated text."""
    changed = replace(case.artifact, source=mutation.apply(case.artifact.source))
    return replace(case, name=f"{case.name}: {mutation.name}", artifact=changed)


def findings(cases: Sequence[Case], programs: Sequence[tuple[Program, Path]]) -> list[Finding]:
    """Runs every mutant in every variant."""
    found = []
    for number, case in enumerate(cases):
        evidence = [examine(program, number, case, folder) for program, folder in programs]
        found.append(Finding(case.name, tuple(dict.fromkeys(finder(each) for each in evidence if not each.passed))))
    return found


def finder(evidence: Evidence) -> str:
    """What a failed evidence was found by."""
    return next((name for words, name in FINDERS if words in evidence.faults[0]), "end of the program")
