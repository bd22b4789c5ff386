"""Comparing what checked MSL computes with the FP64 interpreter: seeds, thread orders, guard bands.

Evidence made here is "MSL, CPU-emulated". It shows a sound algorithm, not the accuracy or speed of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.lowering.artifact import DeviceArtifact
from tilewright.lowering.metal.check.programs import LABEL, Bound, Order, Program, Variant, launch
from tilewright.tileir.graph import Function
from tilewright.tileir.interpreter.run import evaluate
from tilewright.tileir.interpreter.vector import COMPUTE
from tilewright.tileir.types import ViewType
from tilewright.tileir.usage import Usage, usages

Inputs = Mapping[str, Callable[[np.random.Generator], NDArray[Any]]]

BAND = 19
"""Elements before and after a view in a shared buffer; none of them may change."""
SENTINEL = 17
SEEDS = (0, 1)
MOST_RACED_THREADS = 1200
"""Of a larger launch only as many threadgroups run under the thread sanitizer, which pays for each thread, but two at
least."""


@dataclass(frozen=True)
class Case:
    """A kernel at one shape. |got - want| <= tolerance * (1 + |want|); `inputs` replaces random contents by name.

    `one_buffer`: the views are parts of one buffer, each after the other.
    """

    name: str
    function: Function
    artifact: DeviceArtifact
    tolerance: float
    inputs: Inputs = field(default_factory=dict)
    one_buffer: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one case gave: runs made, the worst error as a share of the tolerance, what was found wrong.

    `part` names the threadgroups that ran, "" when all did.
    """

    case: str
    variant: Variant
    runs: int
    worst: float
    faults: tuple[str, ...]
    label: str = LABEL
    part: str = ""

    @property
    def passed(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        verdict = "pass" if self.passed else f"FAIL: {self.faults[0]}"
        head = f"{self.case} [{', '.join(filter(None, (self.label, self.variant.value, self.part)))}]"
        return f"{head}: {verdict}, {self.worst:.3g} of tolerance, {self.runs} runs"


def examine(program: Program, number: int, case: Case, folder: Path) -> Evidence:
    """A case as the variant asks: plain at every seed and order, under a sanitizer at one of each. Of a launch that is
    large for the thread sanitizer some threadgroups run under it, the last one too, and its evidence says how many."""
    if program.variant is Variant.PLAIN:
        return compare(program, number, case, folder)
    groups = max(2, MOST_RACED_THREADS // prod(case.artifact.block)) if program.variant is Variant.TSAN else 0
    return compare(program, number, case, folder, seeds=(1,), orders=(Order.PERMUTED,), groups=groups)


def compare(
    program: Program,
    number: int,
    case: Case,
    folder: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    orders: Sequence[Order] = tuple(Order),
    groups: int = 0,
) -> Evidence:
    """Runs a case at every seed and order. Even seeds have guard bands, unless a sanitizer watches exact sizes; with
    odd ones a view ends where memory ends, and `multiply` has its other reading. Stops at a fault.

    `groups`: only that many threadgroups run (0 = all), as in `launch`. Programs of a launch are independent, so what
    they write is as in the whole launch; elements that none of them touched are not compared.
    """
    worst, runs = 0.0, 0
    whole = prod(case.artifact.grid)
    part = f"{groups} of {whole} threadgroups" if 0 < groups < whole else ""
    for seed in seeds:
        arguments = contents(case.function, case.inputs, seed)
        wanted = evaluate(case.function, arguments)
        band = BAND if seed % 2 == 0 and program.variant is Variant.PLAIN else 0
        views = [arguments[place] for place in case.artifact.buffer_arguments]
        buffers = together(views, band) if case.one_buffer else [banded(view, band) for view in views]
        for order in orders:
            runs += 1
            outcome = launch(
                program,
                number,
                case.artifact.grid,
                case.artifact.block,
                buffers,
                folder,
                order=order,
                seed=seed,
                multiply_adds=bool(seed % 2),
                groups=groups,
            )
            if outcome.fault:
                return Evidence(case.name, program.variant, runs, worst, (outcome.fault,), part=part)
            faults: list[str] = []
            written = False
            for place, bound, got in zip(case.artifact.buffer_arguments, buffers, outcome.contents, strict=True):
                name = case.function.parameters[place].name
                before, want = arguments[place].ravel(), wanted[place].ravel()
                start = bound.offset // before.itemsize
                end = start + before.size
                view = got[start:end]
                if part:
                    touched = changed(before, view)
                    written |= bool(touched.any())
                    view, want = view[touched], want[touched]
                error = largest_error(view, want, case.tolerance)
                worst = max(worst, error)
                if error > 1.0:
                    faults.append(f"wrong result in `{name}`: {error:.3g} times the tolerance, {order.name.lower()}")
                if np.any(got[start - band : start] != SENTINEL) or np.any(got[end : end + band] != SENTINEL):
                    faults.append(f"guard band of `{name}` was written")
            if part and not written:
                faults.append("the threadgroups that ran wrote nothing")
            if faults:
                return Evidence(case.name, program.variant, runs, worst, tuple(faults), part=part)
    return Evidence(case.name, program.variant, runs, worst, (), part=part)


def contents(function: Function, inputs: Inputs, seed: int) -> list[NDArray[Any]]:
    """What every argument holds before the launch: random numbers, NaN where the kernel only writes floats."""
    random = np.random.default_rng(seed)
    found: list[NDArray[Any]] = []
    for parameter, usage in zip(function.parameters, usages(function), strict=True):
        assert isinstance(parameter.type, ViewType), parameter  # noqa: S101
        kind = np.dtype(np.float32) if parameter.type.element.is_float else COMPUTE[parameter.type.element]
        shape = parameter.type.space.shape
        if parameter.name in inputs:
            found.append(np.ascontiguousarray(inputs[parameter.name](random).astype(kind)))
        elif kind.kind == "f":
            found.append(np.full(shape, np.nan, kind) if usage is Usage.WRITE else drawn(random, shape))
        else:
            found.append(random.integers(0, 2 if kind.kind == "b" else 100, shape).astype(kind))
    return found


def drawn(random: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return random.standard_normal(shape).astype(np.float32)


def banded(view: NDArray[Any], band: int) -> Bound:
    """The view inside a larger buffer."""
    edge = np.full(band, SENTINEL, view.dtype)
    return Bound(np.concatenate([edge, view.ravel(), edge]), band * view.dtype.itemsize)


def together(views: Sequence[NDArray[Any]], band: int) -> list[Bound]:
    """The views, all of one element type, as parts of one buffer with a band before, between and after them."""
    edge = np.full(band, SENTINEL, views[0].dtype)
    whole = np.concatenate([edge, *(piece for view in views for piece in (view.ravel(), edge))])
    assert whole.dtype == edge.dtype, whole.dtype  # noqa: S101
    ends = np.cumsum([view.size + band for view in views])
    return [Bound(whole, int(end - view.size) * whole.itemsize) for view, end in zip(views, ends, strict=True)]


def changed(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements have other bits than before."""
    bits = np.dtype(f"u{before.itemsize}")
    found: NDArray[np.bool_] = before.view(bits) != after.view(bits)
    return found


def largest_error(got: NDArray[Any], want: NDArray[Any], tolerance: float) -> float:
    """The largest error as a share of what is allowed; inf where one side is NaN or infinite and the other is not."""
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    exact = got.astype(np.float64)
    same = (exact == want) | (np.isnan(exact) & np.isnan(want))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(same, 0.0, np.abs(exact - want) / (tolerance * (1.0 + np.abs(want))))
    return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0))
