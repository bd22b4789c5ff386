"""What became of the calls: an implementation that was linked in without being inlined shows in the machine code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from tilewright.exports.naming import sized_base
from tilewright.problem import Problem

_CALL = re.compile(r"\bCALL(?:\.\w+)*\b")
_LABEL = re.compile(r"^(?:\$?[\w.$]+\$)?(?P<symbol>[A-Za-z_]\w*):$", re.MULTILINE)

MEANING = (
    "the call works only if the device function has the ABI of its description, which the assembler does not check: a "
    "wrong parameter type leaves such a call. It is slower too. Libraries that tilewright builds are checked"
)


def calls_left(disassembly: str, symbols: Collection[str]) -> tuple[str, ...]:
    """The symbols, or sizes of them, that the machine code holds as functions of their own while it calls something."""
    if not _CALL.search(disassembly):
        return ()
    labels = dict.fromkeys(match["symbol"] for match in _LABEL.finditer(disassembly))
    return tuple(label for symbol in symbols for label in labels if symbol in (label, sized_base(label)))


def inspected(disassemblies: Iterable[str], symbols: Collection[str]) -> list[Problem]:
    """A warning for each implementation that is called instead of inlined."""
    left = dict.fromkeys(symbol for text in disassemblies for symbol in calls_left(text, symbols))
    return [Problem(f"`{symbol}` was linked in but not inlined: a CALL is left over", hint=MEANING) for symbol in left]


def cubins_in(folder: Path) -> list[Path]:
    """The cubins that nvcc kept, in order of name."""
    return sorted(folder.glob("*.cubin"))
