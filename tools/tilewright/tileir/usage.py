"""What a function does with each parameter, derived from its effects. Notes: usage derivation."""

from __future__ import annotations

from enum import Flag

from tilewright.problem import Problem
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Function
from tilewright.tileir.vocabulary import Kind

READS = frozenset({Kind.LOAD_ELEMENT, Kind.LOAD_TILE})
WRITES = frozenset({Kind.STORE_ELEMENT, Kind.STORE_TILE})


class Usage(Flag):
    """NONE for a parameter that is not used; it stays part of the signature."""

    NONE = 0
    READ = 1
    WRITE = 2


def usages(function: Function) -> tuple[Usage, ...]:
    """One usage a parameter, in signature order.

    A parameter used other than as operand 0 of a view access raises TileIRError, rule `unknown-argument-effect` (B139).
    """
    found: list[Usage] = []
    problems: list[Problem] = []
    for parameter in function.parameters:
        usage = Usage.NONE
        for use in parameter.uses:
            if use.index == 0 and use.user.kind in READS:
                usage |= Usage.READ
            elif use.index == 0 and use.user.kind in WRITES:
                usage |= Usage.WRITE
            else:
                problems.append(
                    Problem(
                        what=f"`{function.name}`: unknown argument effect: `{parameter.name}` is operand {use.index} "
                        f"of `{use.user.kind.value}`",
                        where=use.user.place,
                        hint="use a view through view.load and view.store only",
                        rule="unknown-argument-effect",
                    )
                )
        found.append(usage)
    if problems:
        raise TileIRError(problems)
    return tuple(found)
