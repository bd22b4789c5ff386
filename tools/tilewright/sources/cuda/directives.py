"""Finds the include directives of a C++ text without reading the rest of it, fast enough for a build's every header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.sources.cuda.lexer import BLOCK_COMMENT, CHARACTER, LINE_COMMENT, NUMBER, RAW_STRING, SPLICE, STRING

_GAP = rf"(?:[ \t]|(?>{BLOCK_COMMENT})|\\\r?\n)*"
_HEADER = r'(?:"(?P<{0}quoted>[^"\n]*)"|<(?P<{0}angled>[^>\n]*)>)'
_INTEREST = re.compile(
    rf"(?P<line>^{_GAP}(?:\#|%:){_GAP}"
    rf"(?:(?P<include>include\b{_GAP}(?:{_HEADER.format('')}|(?P<computed>[A-Za-z_]\w*)))"
    rf"|(?P<opens>if(?:n?def)?\b)|(?P<closes>endif\b)))"
    rf"|(?P<asked>\b__has_include[ \t]*\([ \t]*{_HEADER.format('asked_')})"
    rf"|{LINE_COMMENT}|{BLOCK_COMMENT}|{RAW_STRING}|{STRING}|{CHARACTER}|(?<!\w){NUMBER}",
    re.MULTILINE,
)
_NAME = r"(?P<name>\w+)"
_GUARD = re.compile(
    rf"(?:ifndef[ \t]+{_NAME}|if[ \t]*![ \t]*defined[ \t]*\(?[ \t]*(?P<other>\w+)[ \t]*\)?)[ \t]*"
    rf"(?:\s|(?>{LINE_COMMENT})|(?>{BLOCK_COMMENT}))*+\#[ \t]*define[ \t]+(?:(?P=name)|(?P=other))\b"
)
_DEFINE = re.compile(
    rf"^[ \t]*(?:\#|%:)[ \t]*define[ \t]+(?P<name>\w+)(?P<called>\()?(?P<body>(?:[^\n\\]|{SPLICE}|\\)*)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Include:
    """A header that a text names.

    `start` and `end` bound the name with its quotes or brackets; `conditional` holds inside an `#if` that is no
    include guard, and for `__has_include`; `computed` when the name is a macro.
    """

    name: str
    start: int
    end: int
    quoted: bool
    conditional: bool
    computed: bool = False


def includes(text: str) -> Iterator[Include]:
    """The include directives of a text, in order; none in comments and strings."""
    if "include" not in text:
        return
    open_conditions: list[bool] = []
    for match in _INTEREST.finditer(text):
        if match["opens"]:
            open_conditions.append(_GUARD.match(text, match.start("opens")) is None)
        elif match["closes"] and open_conditions:
            open_conditions.pop()
        elif match["include"]:
            yield _include(match, "", any(open_conditions))
        elif match["asked"]:
            yield _include(match, "asked_", True)


def defined_words(text: str) -> Iterator[tuple[str, frozenset[str] | None]]:
    """Each macro a header defines, with the words it stands for; None in place of them when it takes arguments.

    Does not look whether a definition stands in a comment.
    """
    for match in _DEFINE.finditer(text):
        body = re.sub(rf"{LINE_COMMENT}|{BLOCK_COMMENT}", " ", match["body"])
        yield match["name"], None if match["called"] else frozenset(re.findall(r"\w+|[^\w\s\\]", body))


def _include(match: re.Match[str], prefix: str, conditional: bool) -> Include:
    if not prefix and match["computed"]:
        return Include(match["computed"], match.start("computed"), match.end("computed"), False, conditional, True)
    kind = f"{prefix}quoted" if match[f"{prefix}quoted"] is not None else f"{prefix}angled"
    return Include(match[kind], match.start(kind) - 1, match.end(kind) + 1, kind.endswith("quoted"), conditional)
