"""Why a backend has no form of a kind of operation: the other half of a row in its table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """An operation without a form here: number in the catalogue, the fault, what to write instead."""

    number: str
    what: str
    hint: str


NO_MEMORY = Rejection(
    "B46",
    "manual Memory is an unsupported operation here, and there is no fallback",
    "keep the value in a tile; carry it through a serial nest",
)
