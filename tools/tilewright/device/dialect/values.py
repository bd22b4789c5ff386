"""Operands: constants, constant expressions and attributes, from opaque to typed pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tilewright.device.dialect.tokens import closing, joined, split, word_set
from tilewright.device.dialect.types import BYTE_POINTER, element, old_type, type_end

_ATTRIBUTES = word_set(
    "noundef zeroext signext inreg noalias nonnull readonly readnone writeonly nofree returned immarg nest noext sret "
    "byval byref captures dereferenceable dereferenceable_or_null range align initializes nofpclass swiftself allocptr "
    "dead_on_unwind dead_on_return writable elementtype preallocated inalloca allocalign"
)
_COPIED = word_set("byval inalloca preallocated")  # without them the callee would change the caller's value
_CASTS = word_set("bitcast ptrtoint inttoptr trunc ptrtoaddr")
_BINARY = word_set("add sub xor mul shl")
GEP_FLAGS = word_set("inbounds nuw nusw inrange")


class Unsupported(Exception):
    """One construct that the old dialect cannot say; its text is what the user reads."""


@dataclass(slots=True)
class Names:
    """What the lines of one module need to know of each other.

    `globals` are the old types of variables and functions without the last star; `typed` the old parameter types of
    exported functions; `types` the bodies of named types; `fresh` the next unused local name.
    """

    globals: dict[str, str] = field(default_factory=dict)
    typed: dict[str, list[str]] = field(default_factory=dict)
    types: dict[str, Sequence[str]] = field(default_factory=dict)
    prefix: str = "%cast"
    count: int = 0
    called: dict[str, None] = field(default_factory=dict)

    def fresh(self) -> str:
        self.count += 1
        return f"{self.prefix}{self.count}"


def skip_attributes(words: Sequence[str], start: int) -> tuple[int, str]:
    """The index behind the parameter attributes, and the alignment among them as `align 4` or an empty string."""
    alignment = ""
    while start < len(words) and words[start] in _ATTRIBUTES:
        if words[start] in _COPIED:
            raise Unsupported(f"a `{words[start]}` parameter")
        if words[start] == "align" and words[start + 1].isdigit():
            alignment = f"align {words[start + 1]}"
            start += 1
        start += 1
        if start < len(words) and words[start] == "(":
            start = closing(words, start) + 1
    return start, alignment


def operand(words: Sequence[str], names: Names) -> tuple[str, str]:
    """A type with its value: (`i8*`, `%p`) for `ptr noundef %p`."""
    end = type_end(words)
    start, _ = skip_attributes(words, end)
    return old_type(words[:end]), value(words[:end], words[start:], names)


def pair(words: Sequence[str], names: Names) -> str:
    """The same as one text: `i8* %p`."""
    return " ".join(operand(words, names))


def value(kind: Sequence[str], words: Sequence[str], names: Names) -> str:
    """A value of a known type. Raises Unsupported for an expression that the old dialect lacks."""
    first = words[0]
    if len(words) == 1:
        if first.startswith("@"):
            return f"bitcast ({_global(first, names)}* {first} to {BYTE_POINTER})"
        return "undef" if first == "poison" else first
    if first in _CASTS:
        return _cast(words, names)
    if first == "getelementptr":
        return _address(words, names)
    if first in _BINARY:
        start = words.index("(")
        left, right = (pair(piece, names) for piece in split(words[start + 1 : closing(words, start)]))
        return f"{first} ({left}, {right})"
    if first == "splat":
        lane = pair(words[2:-1], names)
        return "<" + ", ".join([lane] * int(kind[1])) + ">"
    if first == "<" and words[1] == "{":
        return "<{ " + ", ".join(pair(piece, names) for piece in split(words[2:-2])) + " }>"
    if first in ("{", "[", "<"):
        inner = ", ".join(pair(piece, names) for piece in split(words[1:-1]))
        return f"{first} {inner} {words[-1]}"
    raise Unsupported(f"the constant `{joined(words)}`")


def _global(name: str, names: Names) -> str:
    if name not in names.globals:
        raise Unsupported(f"the name `{name}`")
    return names.globals[name]


def _cast(words: Sequence[str], names: Names) -> str:
    inner = list(words[words.index("(") + 1 : -1])
    at = len(inner) - 1 - inner[::-1].index("to")
    opcode = "ptrtoint" if words[0] == "ptrtoaddr" else words[0]
    return f"{opcode} ({pair(inner[:at], names)} to {old_type(inner[at + 1 :])})"


def _address(words: Sequence[str], names: Names) -> str:
    start = next(at for at, word in enumerate(words) if word == "(" and words[at - 1] != "inrange")
    pieces = split(words[start + 1 : -1])
    flag = "inbounds " if "inbounds" in words[:start] else ""
    base = value(["ptr"], pieces[1][1:], names)
    indices = ", ".join(pair(piece, names) for piece in pieces[2:])
    source = old_type(pieces[0])
    if source == "i8":
        return f"getelementptr {flag}(i8, i8* {base}, {indices})"
    inner = f"bitcast ({BYTE_POINTER} {base} to {source}*)"
    result = old_type(stepped(pieces[0], pieces[2:], names.types))
    return f"bitcast ({result}* getelementptr {flag}({source}, {source}* {inner}, {indices}) to {BYTE_POINTER})"


def stepped(kind: Sequence[str], indices: Sequence[Sequence[str]], named: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The type that the indices of a `getelementptr` lead to; the first one stays at the type itself."""
    for index in indices[1:]:
        try:
            kind = element(kind, index[-1], named)
        except (ValueError, IndexError):
            raise Unsupported(f"an index into `{joined(kind)}`") from None
    return kind
