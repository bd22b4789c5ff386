"""The MSL text under construction: indented lines, fresh names, what was computed in the scopes that are open."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count

from tilewright.lowering.metal.scalars import Scalar

ATOM = re.compile(r"[\w.]+|\(-[\w.]+\)")
"""A name or a literal."""
CONSTANT = re.compile(r"v\d+")
"""A name that is never assigned again."""


class Writer:
    """Lines in order. A value remembered in an open scope may be used again below: variables change only where the
    scope ends in which they are read."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._numbers = count()
        self._known: list[dict[Hashable, Scalar]] = [{}]

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def name(self, stem: str) -> str:
        """A name no other value of this kernel has: v7."""
        return f"{stem}{next(self._numbers)}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """`head {` ... `}`, a scope of its own; the head may be empty."""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        self._known.append({})
        yield
        self._known.pop()
        self._depth -= 1
        self.line("}")

    def bind(self, value: Scalar) -> Scalar:
        """The value as a constant of its own, unless it is a name or a literal already."""
        return value if ATOM.fullmatch(value.text) else self.copied(value)

    def copied(self, value: Scalar) -> Scalar:
        """The value in a constant of its own, which no later assignment reaches."""
        if CONSTANT.fullmatch(value.text):
            return value
        name = self.name("v")
        self.line(f"const {value.word} {name} = {value.text};")
        return replace(value, text=name)

    def recall(self, key: Hashable) -> Scalar | None:
        """What was remembered under that key in a scope that is still open."""
        return next((scope[key] for scope in reversed(self._known) if key in scope), None)

    def remember(self, key: Hashable, value: Scalar) -> None:
        self._known[-1][key] = value
