"""How a rule words what it found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tilewright.problem import Problem
from tilewright.tileir.graph import Operation

Problems: TypeAlias = Iterator[Problem]


def fault(operation: Operation, what: str, hint: str = "") -> Problem:
    """A problem of one operation: `gemm`: `mma` (operation 12): ..., at the position the user wrote it."""
    name = operation.opcode.label if operation.opcode else operation.kind.value
    return Problem(f"`{operation.function.name}`: `{name}` (operation {operation.id}): {what}", operation.place, hint)


def listed(items: Iterable[object]) -> str:
    """The items with commas, or `nothing`."""
    return ", ".join(str(item) for item in items) or "nothing"
