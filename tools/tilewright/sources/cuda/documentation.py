"""Documentation comments in front of an export, without their marks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from tilewright.sources.cuda.lexer import SourceText, Token

_LINE = re.compile(r"//[/!](?![/<])")
_BLOCK = re.compile(r"/\*[*!](?![*/<])")


def doc_before(source: SourceText, token: Token) -> str:
    """The text of the `///` lines or the `/** */` block directly before a token, empty when there is none.

    `//` comments in between end the search; one blank after the mark is dropped, as are blank lines at either end.
    """
    tokens = source.tokens
    index = bisect_left(tokens, token.start, key=lambda other: other.start) - 1
    lines: list[str] = []
    while index >= 0 and tokens[index].kind == "comment" and (read := _lines(tokens[index].text)) is not None:
        block = tokens[index].text.startswith("/*")
        if (block and lines) or not _first_on_its_line(source, tokens[index]):
            break
        lines = [*read, *lines]
        if block or not _joined(source, tokens, index):
            break
        index -= 1
    return "\n".join(_trimmed(lines))


def _joined(source: SourceText, tokens: Sequence[Token], index: int) -> bool:
    """Whether the comment before this one is on the line just above it."""
    above = tokens[index - 1] if index else None
    return above is not None and source.text[above.end : tokens[index].start].count("\n") == 1


def _first_on_its_line(source: SourceText, comment: Token) -> bool:
    return not source.text[source.text.rfind("\n", 0, comment.start) + 1 : comment.start].strip()


def _lines(comment: str) -> list[str] | None:
    """The lines of a documentation comment, None for any other comment."""
    if _LINE.match(comment):
        return [comment[3:].removeprefix(" ").rstrip()]
    if not _BLOCK.match(comment):
        return None
    first, *rest = comment[3:-2].splitlines() or [""]
    starred = [re.sub(r"^\s*\*? ?", "", line) for line in rest]
    return [first.removeprefix(" ").rstrip(), *(line.rstrip() for line in starred)]


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines
