"""The C text under construction: indented lines, fresh names, and what was computed in the scopes that are open."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from tilewright.lowering.cuda.scalars import Scalar

INDENT = "  "
ATOM = re.compile(r"[\w.]+|\(-[\w.]+\)")
"""A name or a literal."""


class Writer:
    """Lines in order. A value remembered in an open scope may be used again below it: C variables never change there
    but for loop carries, and those change only where their scope ends."""

    def __init__(self, depth: int = 0) -> None:
        self.lines: list[str] = []
        self._depth = depth
        self._numbers = count()
        self._known: list[dict[Hashable, object]] = [{}]

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self._depth + text)

    def name(self, stem: str) -> str:
        """A name that no other value of this program has: v7."""
        return f"{stem}{next(self._numbers)}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head {` ... `}`, a scope of its own."""
        self.line(f"{head} {{")
        self._depth += 1
        self._known.append({})
        yield
        self._known.pop()
        self._depth -= 1
        self.line("}")

    def bind(self, value: Scalar) -> Scalar:
        """The value as a constant of its own, unless it is a name or a literal already."""
        if ATOM.fullmatch(value.text):
            return value
        name = self.name("v")
        self.line(f"const {value.c_type} {name} = {unwrapped(value.text)};")
        return replace(value, text=name)

    def recall(self, key: Hashable) -> object | None:
        """What was remembered under that key in a scope that is still open."""
        return next((scope[key] for scope in reversed(self._known) if key in scope), None)

    def remember(self, key: Hashable, value: object) -> None:
        self._known[-1][key] = value


def unwrapped(text: str) -> str:
    """The text without parentheses around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text
