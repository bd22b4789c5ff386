"""Tokens of the text form, each with its place. `;` starts a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.problem import Place, Problem
from tilewright.tileir.errors import TileIRError

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|;[^\n]*)
      |(?P<value>%[0-9]+)
      |(?P<string>"(?:[^"\\\n]|\\.)*")
      |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*(?:\#[0-9]+)?)
      |(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|-inf\b)
      |(?P<mark>->|<<|>>|//|[\[\](){}<>=,:^+\-*%&])""",
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is value, string, number, name, mark or end."""

    kind: str
    text: str
    where: Place


def tokens(text: str, file: str) -> Iterator[Token]:
    """All tokens, then one of kind `end`; TileIRError at the first character that starts none."""
    position, line, start = 0, 1, 0
    while position < len(text):
        where = Place(file, line, position - start + 1)
        match = TOKEN.match(text, position)
        if match is None:
            raise TileIRError([Problem(f"{text[position]!r} starts no token of TileIR text", where, rule="bad-token")])
        if match.lastgroup != "space":
            yield Token(match.lastgroup or "", match.group(), where)
        newlines = match.group().count("\n")
        if newlines:
            line += newlines
            start = match.start() + match.group().rindex("\n") + 1
        position = match.end()
    yield Token("end", "end of text", Place(file, line, position - start + 1))
