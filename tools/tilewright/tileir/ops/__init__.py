"""The table of every operation: its kind and the class that names its operands. One family a file."""

from __future__ import annotations

from tilewright.tileir.graph import Operation
from tilewright.tileir.ops import memory, nests, values, views
from tilewright.tileir.vocabulary import Kind

OPERATIONS: tuple[type[Operation], ...] = (
    *values.OPERATIONS,
    *views.OPERATIONS,
    *memory.OPERATIONS,
    *nests.OPERATIONS,
)

BY_KIND: dict[Kind, type[Operation]] = {operation.kind: operation for operation in OPERATIONS}
