"""LLVM assembly as a list of words, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(
    r'c"[^"]*"|[@%](?:"[^"]*"|[-\w.$]+)|!(?:[-\w.$]+)?|#\d+|"[^"]*"|-?\d+\.\d+(?:[eE][-+]?\d+)?|[-\w.$]+|\.\.\.|\S'
)
_TIGHT_BEFORE = {",", ")", "]", "}", ">", "*"}
_TIGHT_AFTER = {"(", "[", "{", "<"}
_OPENING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSING = set(_OPENING.values())


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def tokens(line: str) -> list[str]:
    """The words of one line, comment left out: `load ptr, ptr %p` is `load`, `ptr`, `,`, `ptr`, `%p`."""
    found: list[str] = []
    for word in _WORD.findall(line):
        if word == ";":
            break
        found.append(word)
    return found


def joined(words: Iterable[str]) -> str:
    """One line again, spaced as LLVM prints it, near enough for a reader."""
    text, previous = "", "("
    for word in words:
        call = word == "(" and (previous[0] in "@%" or previous == "getelementptr")
        tight = word in _TIGHT_BEFORE or previous in _TIGHT_AFTER or call
        text += word if tight else f" {word}"
        previous = word
    return text.lstrip()


def closing(words: Sequence[str], start: int) -> int:
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(words)):
        depth += (words[at] in _OPENING) - (words[at] in _CLOSING)
        if depth == 0:
            return at
    raise ValueError(f"no bracket closes {joined(words[start:])}")


def split(words: Sequence[str], separator: str = ",") -> list[list[str]]:
    """The pieces between separators outside of every bracket."""
    pieces: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if word == separator and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(word)
    return pieces if pieces != [[]] else []
