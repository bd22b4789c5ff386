"""Types of the new dialect, spelled in the old one: every pointer is an `i8*`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.device.dialect.tokens import closing, split

BYTE_POINTER = "i8*"

_BRACKETS = {"[", "{", "<"}


def type_end(words: Sequence[str], start: int = 0) -> int:
    """The index behind the type that starts there. Function types do not occur in the middle of a line any more."""
    if words[start] in _BRACKETS:
        return closing(words, start) + 1
    if words[start] == "ptr" and words[start + 1 : start + 2] == ["addrspace"]:
        return start + 5
    return start + 1


def old_type(words: Sequence[str]) -> str:
    """`{ ptr, [2 x i32] }` is `{ i8*, [2 x i32] }`."""
    spelled = [BYTE_POINTER if word == "ptr" else word for word in words]
    return (
        " ".join(spelled).replace("[ ", "[").replace(" ]", "]").replace("< ", "<").replace(" >", ">").replace(" ,", ",")
    )


def element(words: Sequence[str], index: str, named: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The type one step into an aggregate; `index` is a number for a struct, any for an array. ValueError: none."""
    if len(words) == 1 and words[0] in named:
        words = named[words[0]]
    packed = words[0] == "<" and words[1] == "{"
    if packed:
        words = words[1:-1]
    if words[0] == "[" or words[0] == "<":
        return words[3:-1]
    if words[0] == "{":
        return split(words[1:-1])[int(index)]
    raise ValueError(f"no elements in {' '.join(words)}")
