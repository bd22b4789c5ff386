"""Dependencies in Make syntax, as Make and Ninja read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.cli.arguments import UsageError
from tilewright.problem import Problem

UNWRITABLE = frozenset("\n;=|*?\"'`&<>^")
"""What Make or Ninja reads as something else, whatever stands before it."""


def make_rule(targets: Iterable[str], sources: Sequence[str]) -> str:
    """One rule, and an empty rule for each source, so that a header deleted later is not an error for Make.

    UsageError for a path that no depfile can hold: `%` in a target, any of `UNWRITABLE` in either.
    """
    targets = list(targets)
    unwritable = [(path, UNWRITABLE | {"%"}) for path in targets] + [(path, UNWRITABLE) for path in sources]
    problems = [
        Problem(
            what=f"a depfile cannot hold the path {path!r}: Make or Ninja reads {wrong[0]!r} otherwise",
            hint="give the file a name without it, or leave --depfile out",
        )
        for path, characters in unwritable
        if (wrong := [character for character in path if character in characters])
    ]
    if problems:
        raise UsageError(problems)
    needed = [escaped(source) for source in sources]
    rule = " \\\n  ".join([" ".join(map(escaped, targets)) + ":", *needed])
    return "\n".join([rule, *(f"\n{source}:" for source in needed)]) + "\n"


def escaped(path: str) -> str:
    """A path as one word of a rule: space, `#` and `:` get a backslash, and so do backslashes before; `$` is `$$`."""
    out: list[str] = []
    backslashes = 0
    for character in path:
        if character in " \t#:":
            out.append("\\" * (backslashes + 1))
        elif character == "$":
            out.append("$")
        out.append(character)
        backslashes = backslashes + 1 if character == "\\" else 0
    return "".join(out)
