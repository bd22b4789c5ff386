"""Comparing what checked MSL computes with the FP64 interpreter: seeds, thread orders, guard bands.

Evidence made here is "MSL, CPU-emulated". It shows a sound algorithm, not the accuracy or speed of a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Case:
    """A kernel at one shape. |got - want| <= tolerance * (1 + |want|); `inputs` replaces random contents by name."""

    name: str
    function: Function
    artifact: DeviceArtifact
    tolerance: float
    inputs: Inputs = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one case gave: runs made, the worst error as a share of the tolerance, what was found wrong."""

    case: str
    variant: Variant
    runs: int
    worst: float
    faults: tuple[str, ...]
    label: str = LABEL

    @property
    def passed(self) -> bool:
        return not self.faults

    def __str__(self) -> str:
        verdict = "pass" if self.passed else f"FAIL: {self.faults[0]}"
        head = f"{self.case} [{self.label}, {self.variant.value}]"
        return f"{head}: {verdict}, {self.worst:.3g} of tolerance, {self.runs} runs"


def compare(
    program: Program,
    number: int,
    case: Case,
    folder: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    orders: Sequence[Order] = tuple(Order),
) -> Evidence:
    """Runs a case at every seed and order. Even seeds have guard bands, unless a sanitizer watches exact sizes; with
    odd ones a view ends where memory ends, and `multiply` has its other reading. Stops at a fault.
    """
    worst, runs = 0.0, 0
    for seed in seeds:
        arguments = contents(case.function, case.inputs, seed)
        wanted = evaluate(case.function, arguments)
        band = BAND if seed % 2 == 0 and program.variant is Variant.PLAIN else 0
        buffers = [banded(arguments[place], band) for place in case.artifact.buffer_arguments]
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
            )
            if outcome.fault:
                return Evidence(case.name, program.variant, runs, worst, (outcome.fault,))
            faults: list[str] = []
            for place, got in zip(case.artifact.buffer_arguments, outcome.contents, strict=True):
                name = case.function.parameters[place].name
                view = got[band : got.size - band].reshape(arguments[place].shape)
                error = largest_error(view, wanted[place], case.tolerance)
                worst = max(worst, error)
                if error > 1.0:
                    faults.append(f"wrong result in `{name}`: {error:.3g} times the tolerance, {order.name.lower()}")
                if band and (np.any(got[:band] != SENTINEL) or np.any(got[-band:] != SENTINEL)):
                    faults.append(f"guard band of `{name}` was written")
            if faults:
                return Evidence(case.name, program.variant, runs, worst, tuple(faults))
    return Evidence(case.name, program.variant, runs, worst, ())


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


def largest_error(got: NDArray[Any], want: NDArray[Any], tolerance: float) -> float:
    """The largest error as a share of what is allowed; inf where one side is NaN or infinite and the other is not."""
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, want) else float("inf")
    exact = got.astype(np.float64)
    same = (exact == want) | (np.isnan(exact) & np.isnan(want))
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.where(same, 0.0, np.abs(exact - want) / (tolerance * (1.0 + np.abs(want))))
    return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0))
