"""What a verification found, as the lines of the specification and as JSON. Spec: Verifying the ABI on CUDA 13.4."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.callers.buffers import image_of, outcome_of
from tilewright.callers.bundle import Bundle, Check
from tilewright.callers.error import CallerError

Launch = Callable[[Check, Sequence[bytes]], Sequence[bytes]]
"""Runs one check on the images of its parameters and gives the images afterwards; `CallerError` when it cannot."""

SHOWN_CASES = 3


@dataclass(frozen=True, slots=True)
class Result:
    """One export's result. `faults` are (kind of input, what was wrong), none when it passed."""

    check: Check
    faults: tuple[tuple[str, str], ...]
    nans: int
    largest_ulps: int

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return not self.faults

    def lines(self) -> Iterator[str]:
        """`PASS relu: ...`, or `FAIL relu: ...` and a line for each further kind of input that failed."""
        check = self.check
        if self.passed:
            text = f"PASS {check.name}: {check.tile_shape} elements through `{check.symbol}`, {_listed(check.cases)}"
            if self.nans:
                text += f"; {self.nans} NaN where a NaN was expected"
            if check.max_ulps:
                text += f"; largest error {self.largest_ulps} ulp of {check.max_ulps} allowed"
            yield text
            return
        for at, (case, fault) in enumerate(self.faults[:SHOWN_CASES]):
            head = f"FAIL {check.name}:" if at == 0 else f"     {check.name}:"
            yield f"{head} {fault} (`{check.symbol}`, {case})"
        if (more := len(self.faults) - SHOWN_CASES) > 0:
            yield f"     {check.name}: {more} more faults"


@dataclass(frozen=True, slots=True)
class Report:
    """A bundle's results. `where` is the device in words, `emulated` how the CPU stood in for it, "" on a GPU."""

    bundle: Bundle
    where: str
    emulated: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        """Whether every export passed."""
        return all(result.passed for result in self.results)

    @property
    def summary(self) -> str:
        """The line a script can match: `SUCCESS: 3/3 tile exports verified through the native ABI`."""
        good = sum(result.passed for result in self.results)
        word = "SUCCESS" if self.passed else "FAILURE"
        label = f", CPU-emulated ({self.emulated})" if self.emulated else ""
        return f"{word}: {good}/{len(self.results)} tile exports verified through the native ABI{label}"

    def notes(self) -> Iterator[str]:
        """What ran where, what the results were compared with, and what a PASS does not say."""
        bundle = self.bundle
        yield f"library `{bundle.library}` for {bundle.arch}, on {self.where}; bundle {bundle.digest or 'not stored'}"
        yield f"inputs of seed {bundle.seed}"
        for oracle in dict.fromkeys(check.oracle for check in bundle.checks):
            names = [check.name for check in bundle.checks if check.oracle == oracle]
            yield f"expected values of {', '.join(names)}: {oracle}"
        if not self.emulated:
            options = " ".join(bundle.link_options)
            yield f"a PASS is about the mock link ({options}): the assembler's own link may contract multiply-adds"
        else:
            yield "CPU-emulated: caller, wrapper and fragment addressing ran; GPU code generation did not"

    def text(self) -> str:
        """For people; the summary stands last."""
        lines = [f"note: {note}" for note in self.notes()]
        lines += [line for result in self.results for line in result.lines()]
        return "\n".join([*lines, self.summary]) + "\n"

    def json(self) -> str:
        """The same for programs."""
        record = {
            "schema": 1,
            "library": self.bundle.library,
            "arch": self.bundle.arch,
            "device": self.where,
            "emulated": self.emulated or None,
            "manifest_sha256": self.bundle.digest or None,
            "link_options": list(self.bundle.link_options),
            "seed": self.bundle.seed,
            "passed": sum(result.passed for result in self.results),
            "total": len(self.results),
            "exports": [
                {
                    "name": result.check.name,
                    "symbol": result.check.symbol,
                    "elements": result.check.tile_shape,
                    "oracle": result.check.oracle,
                    "cases": list(result.check.cases),
                    "passed": result.passed,
                    "nans": result.nans,
                    "max_ulps": result.check.max_ulps,
                    "largest_ulps": result.largest_ulps,
                    "faults": [{"case": case, "what": fault} for case, fault in result.faults],
                }
                for result in self.results
            ],
        }
        return json.dumps(record, indent=2) + "\n"


def skipped_json(reason: str) -> str:
    """The JSON of a verification that did not run."""
    return json.dumps({"schema": 1, "skipped": reason}, indent=2) + "\n"


def run_checks(bundle: Bundle, launch: Launch) -> tuple[Result, ...]:
    """Every check on every kind of input; an export that cannot run fails and the next one runs."""
    return tuple(_result(check, launch) for check in bundle.checks)


def _result(check: Check, launch: Launch) -> Result:
    faults: list[tuple[str, str]] = []
    nans = largest = 0
    for case, kind in enumerate(check.cases):
        images = [image_of(tensor, case) for tensor in check.tensors]
        try:
            after = launch(check, images)
        except CallerError as error:
            faults += [(kind, problem.what) for problem in error.problems]
            continue
        outcome = outcome_of(check, case, after)
        faults += [(kind, fault) for fault in outcome.faults]
        nans += outcome.nans
        largest = max(largest, outcome.largest_ulps)
    return Result(check, tuple(faults), nans, largest)


def _listed(cases: Sequence[str]) -> str:
    return cases[0] if len(cases) == 1 else f"{', '.join(cases[:-1])} and {cases[-1]}"
