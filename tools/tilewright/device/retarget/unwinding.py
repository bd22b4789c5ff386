"""Remains of unwinding. `panic=abort` promises that none is live; the generics of std leave dead blocks behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tilewright.device.module import DeviceError
from tilewright.device.retarget.demangle import demangle
from tilewright.device.retarget.text import NAME, entities
from tilewright.problem import Problem

_PERSONALITY = re.compile(rf" personality ptr {NAME}")
_RESUME = re.compile(r"^(\s+)resume .*$", re.MULTILINE)
_LIVE = re.compile(r"(?:^|= )(invoke|landingpad|cleanuppad|catchpad|catchswitch)\b")


def remove_unwinding(text: str) -> str:
    """Strips personalities and turns each `resume` into `unreachable`; refuses a module that really unwinds."""
    problems = list(_unwinding(text))
    if problems:
        raise DeviceError(problems)
    return _RESUME.sub(r"\1unreachable", _PERSONALITY.sub("", text))


def _unwinding(text: str) -> Iterator[Problem]:
    for entity in entities(text).values():
        for line in entity.lines:
            match = _LIVE.search(line.strip())
            if match:
                yield Problem(
                    what=f"`{demangle(entity.name)}` unwinds (`{match[1]}`): a GPU cannot",
                    rule="unwinding",
                    hint="compile with -C panic=abort, all crates included",
                )
                break
