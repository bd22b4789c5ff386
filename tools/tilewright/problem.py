"""The error value that every room may import: what went wrong, where, and what to write instead.

Checks *yield* `Problem`s; a room raises one `ProblemError` that carries all of them; only `cli/` and
`scons/` print them, both through `render`.  This module imports nothing of the package.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position a user can open: `file`, 1-based `line` and `column` (0 = unknown), or a path into a JSON file.

    `str(Place("relu.cu", 7, 22))` is `relu.cu:7:22`; `str(Place("a.json", path="$.x"))` is `a.json:$.x`.
    """

    file: str
    line: int = 0
    column: int = 0
    path: str = ""

    def __str__(self) -> str:
        numbers = [str(number) for number in (self.line, self.column) if number]
        return ":".join([self.file, *([self.path] if self.path else numbers)])


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of the input, the environment or a tool.

    `what` states the fault, `where` the position if there is one, `hint` something to paste, `rule` the kebab-case
    name of the violated rule, `detail` the whole text that a native tool printed.
    """

    what: str
    where: Place | None = None
    hint: str = ""
    rule: str = ""
    detail: str = ""

    def __str__(self) -> str:
        head = f"{self.where}: " if self.where else ""
        lines = [f"{head}error: {self.what}" + (f" [{self.rule}]" if self.rule else "")]
        lines += [f"    {line}".rstrip() for line in self.detail.splitlines()]
        for number, line in enumerate(self.hint.splitlines()):
            lines.append(f"  hint: {line}" if number == 0 else f"        {line}")
        return visible("\n".join(lines), keep="\n\t")


class ProblemError(Exception):
    """Carries every problem found in one go; rooms subclass it, so that a caller can tell who raised it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(render(self.problems))

    def __reduce__(self) -> tuple[type[ProblemError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


def visible(text: str, *, keep: str = "") -> str:
    """The text with every character that is not printable (and not in `keep`) as `\\u{1b}`.

    A message quotes files, and a terminal obeys control characters.
    """
    return "".join(
        character if character.isprintable() or character in keep else escape(character) for character in text
    )


def escape(character: str) -> str:
    """`\\u{1b}` for the escape character."""
    return f"\\u{{{ord(character):x}}}"


def render(problems: Iterable[Problem]) -> str:
    """The text a user sees: problems in order of position, one under the other, each once."""
    unique = dict.fromkeys(problems)
    ordered = sorted(unique, key=lambda problem: problem.where or Place(""))
    return "\n".join(str(problem) for problem in ordered)
