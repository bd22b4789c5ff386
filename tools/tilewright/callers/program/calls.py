"""What a tile program calls, read from the disassembler's text: each `preview$call` with its tiles."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CALL = re.compile(
    r'preview\$call @(?:"(?P<quoted>[^"]*)"|(?P<name>[\w$.]+))(?:<\[(?P<constants>[^\]]*)\]>)?'
    r"\([^)]*\) : \((?P<inputs>[^)]*)\) -> \(?(?P<results>[^)\n]*)\)?"
)
_TILE = re.compile(r"(?:!cuda_tile\.)?tile<(?P<text>[^<>]*)>")


@dataclass(frozen=True, slots=True, order=True)
class Call:
    """One call: the declaration's name, its constant arguments, the tiles that go in and come out (`128xf32`)."""

    name: str
    constants: tuple[int, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]


def calls_in(disassembly: str) -> tuple[Call, ...]:
    """The calls of a program in order, each distinct one once; the tokens that order them are left out."""
    found = []
    for match in _CALL.finditer(disassembly):
        constants = [part.strip() for part in (match["constants"] or "").split(",")]
        found.append(
            Call(
                name=match["quoted"] or match["name"],
                constants=tuple(int(part) for part in constants if part.isdigit()),
                inputs=_tiles(match["inputs"]),
                results=_tiles(match["results"]),
            )
        )
    return tuple(dict.fromkeys(found))


def _tiles(text: str) -> tuple[str, ...]:
    return tuple(tile["text"] for tile in _TILE.finditer(text))
