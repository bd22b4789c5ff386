"""Executing a function on NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tilewright.problem import Problem
from tilewright.tileir.dims import Dim
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Function, Value
from tilewright.tileir.interpreter.execution import Execution, Step
from tilewright.tileir.interpreter.nests import NESTS
from tilewright.tileir.interpreter.values import VALUES
from tilewright.tileir.interpreter.vector import COMPUTE, Array
from tilewright.tileir.interpreter.views import VIEWS
from tilewright.tileir.types import ViewType
from tilewright.tileir.verifier.verify import ensure
from tilewright.tileir.vocabulary import Kind

STEPS: dict[Kind, Step] = {**VALUES, **VIEWS, **NESTS}
"""What each kind of operation does."""


def evaluate(function: Function, arguments: Sequence[Array]) -> tuple[Array, ...]:
    """Contents of every argument after the kernel, floats as float64; what is passed in stays as it was.

    Outputs keep what they held where the kernel stores nothing, so fill them with NaN to see gaps.
    """
    copies = [np.array(each, np.float64 if np.asarray(each).dtype.kind == "f" else None) for each in arguments]
    execute(function, copies)
    return tuple(copies)


def execute(function: Function, arguments: Sequence[Array]) -> None:
    """Runs the kernel on these arrays in place; they may overlap. One array a parameter, in signature order.

    Computes in float64 and rounds to the dtype of an array only when storing. TileIRError: a function that does not
    verify, arguments that do not fit, an access outside a view that promised not to, instances that race in a store.
    """
    ensure(function)
    symbols: dict[Dim, int] = {}
    problems = list(check_arguments(function, arguments, symbols))
    if problems:
        raise TileIRError(problems)
    arrays = dict(zip(function.parameters, arguments, strict=True))
    with np.errstate(all="ignore"):
        Execution(STEPS, arrays, symbols).run(function.body.block)


def check_arguments(function: Function, arguments: Sequence[Array], symbols: dict[Dim, int]) -> Iterator[Problem]:
    """Every argument that does not fit its parameter; fills in the sizes of dynamic extents."""
    parameters = function.parameters
    if len(arguments) != len(parameters):
        wanted = ", ".join(parameter.name for parameter in parameters)
        what = f"`{function.name}`: argument count is {len(arguments)}, not {len(parameters)}"
        yield Problem(what, hint=f"pass {wanted}", rule="argument-count")
        return
    for parameter, array in zip(parameters, arguments, strict=True):
        yield from _check_argument(function, parameter, array, symbols)


def _check_argument(function: Function, parameter: Value, array: Array, symbols: dict[Dim, int]) -> Iterator[Problem]:
    name = f"`{function.name}`: `{parameter.name}`"
    type = parameter.type
    if not isinstance(type, ViewType):
        yield Problem(f"{name} is of type {type}; only views can be passed", rule="argument-not-a-view")
        return
    wanted = "float" if type.element.is_float else COMPUTE[type.element].name
    if (array.dtype.kind != "f") if type.element.is_float else (array.dtype != COMPUTE[type.element]):
        yield Problem(f"{name} has type {array.dtype}, not {wanted}", rule="argument-type")
    if array.ndim != type.space.rank:
        yield Problem(f"{name} has shape {array.shape}, not rank {type.space.rank}", rule="argument-shape")
        return
    for place, (axis, size) in enumerate(zip(type.space.axes, array.shape, strict=True)):
        extent = symbols.setdefault(axis.extent, size) if isinstance(axis.extent, Dim) else axis.extent
        if extent != size:
            yield Problem(f"{name} has size {size} along axis {place}, not {extent}", rule="argument-shape")
