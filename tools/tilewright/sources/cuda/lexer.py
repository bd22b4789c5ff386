"""The tokens of a CUDA C++ file and where they stand.

Only what is needed to find attributes, scopes and bodies without being fooled by comments, strings and
preprocessor lines.  The declaration of an export itself is read by the grammar (`signature.py`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tilewright.problem import Place, Problem

SPLICE = r"\\\r?\n"
LINE_COMMENT = r"//(?:\\\r?\n|[^\n])*"
BLOCK_COMMENT = r"/\*(?s:.*?)\*/"
RAW_STRING = r'(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?s:.*?)\)(?P=delimiter)"'
STRING = r'(?:u8|[uUL])?"(?:\\(?:\r\n|(?s:.))|[^"\\\n])*"'
CHARACTER = r"(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'"
NUMBER = r"\.?\d(?:[eEpP][+-]|'?[\w.])*"

_TOKEN = re.compile(
    rf"(?P<splice>{SPLICE})|(?P<space>[^\S\n]+)|(?P<newline>\n)|(?P<comment>{LINE_COMMENT}|{BLOCK_COMMENT})"
    rf"|(?P<raw>{RAW_STRING})|(?P<string>{STRING})|(?P<character>{CHARACTER})"
    rf"|(?P<number>{NUMBER})|(?P<name>[^\W\d]\w*)|(?P<mark>::|->|\.\.\.|##|%:|(?s:.))"
)
_HEADER_NAME = re.compile(r'"[^"\n]*"|<[^>\n]*>')
_RAW_START = re.compile(r'(?:u8|[uUL])?R"[^()\\\s]{0,16}\(')
_INCLUDES = frozenset({"include", "include_next", "import"})


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is name, number, string, raw, character, mark, comment or directive; offsets count characters.

    A directive is one token; `inner` holds what stands after its `#`.
    """

    kind: str
    text: str
    start: int
    inner: tuple[Token, ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def directive(self) -> str:
        """The name of a directive (`if`, `define`), empty for anything else."""
        return self.inner[0].text if self.inner and self.kind == "directive" else ""


@dataclass(frozen=True)
class SourceText:
    """A file's text under the name that messages give it (project-relative, POSIX)."""

    file: str
    text: str

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def place(self, offset: int) -> Place:
        """Line and column, both from 1, columns in characters."""
        line = bisect_right(self._lines, offset)
        return Place(self.file, line, offset - self._lines[line - 1] + 1)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, comments and directives included; white space and line splices left out."""
        return tuple(_with_directives(self.text))

    def lexical_problems(self) -> Iterator[Problem]:
        """What would make the text after it part of a comment or string, or hide a name from this reader."""
        for token in chain.from_iterable((token, *token.inner) for token in self.tokens):
            if _never_closed(self.text, token.start, token.kind):
                what, end = ("comment", "*/") if token.kind == "mark" else ("raw string", ')"')
                yield Problem(f"this {what} is never closed", self.place(token.start), hint=f"close it with {end}")
            if token.kind == "name" and re.match(SPLICE + r"\w", self.text[token.end : token.end + 4]):
                yield Problem(
                    f"the name that starts with `{token.text}` goes on in the next line",
                    self.place(token.start),
                    hint="write the name in one line, without the backslash",
                )


def _plain(text: str) -> Iterator[Token]:
    """Tokens with line ends kept as `newline`; the name in an include directive is one string."""
    position = 0
    history: list[str] = []
    while match := _TOKEN.match(text, position):
        kind = str(match.lastgroup)
        at_header = history[-1:] and history[-1] in _INCLUDES and history[-2:-1] in (["#"], ["%:"])
        if at_header and (header := _HEADER_NAME.match(text, position)):
            match, kind = header, "string"
        position = match.end()
        if kind in ("space", "splice"):
            continue
        if kind != "comment":
            history = [*history[-1:], match.group()]
        yield Token(kind, match.group(), match.start())
        if _never_closed(text, match.start(), kind):
            return


def _never_closed(text: str, start: int, kind: str) -> bool:
    """Whether a comment or raw string opens here that did not match as one: it would swallow all the rest."""
    return (kind == "mark" and text.startswith("/*", start)) or (
        kind == "name" and _RAW_START.match(text, start) is not None
    )


def _with_directives(text: str) -> Iterator[Token]:
    line_start, opening = True, None
    collected: list[Token] = []
    for token in _plain(text):
        if opening is not None:
            if token.kind == "newline":
                yield _directive(text, opening, collected)
                line_start, collected, opening = True, [], None
            elif token.kind != "comment":
                collected.append(token)
        elif token.kind == "newline":
            line_start = True
        elif line_start and token.text in ("#", "%:"):
            opening = token
        else:
            line_start = line_start and token.kind == "comment"
            yield token
    if opening is not None:
        yield _directive(text, opening, collected)


def _directive(text: str, opening: Token, inner: list[Token]) -> Token:
    end = inner[-1].end if inner else opening.end
    return Token("directive", text[opening.start : end], opening.start, tuple(inner))
