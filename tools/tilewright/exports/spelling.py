"""How names, numbers, attribute arguments and parameters are spelled in messages.

A message quotes what the user wrote, so that nothing hostile reaches a terminal; a hint is spelled in the language of
the file it is about: Rust, CUDA C++, or the JSON of a description.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tilewright.exports.abi import C_NAMES
from tilewright.exports.model import Access, Parameter
from tilewright.problem import Place, escape, visible

LONGEST_SHOWN = 60
MOST_DIGITS = 20


def shown(text: str) -> str:
    """The text between backticks: printable characters as they are, everything else escaped, long texts cut."""
    return f"`{printable(text).replace('`', escape('`'))}`"


def printable(text: str, longest: int = LONGEST_SHOWN) -> str:
    """The text for a terminal: control and other invisible characters as `\\u{1b}`, cut after `longest` characters."""
    return visible(text[:longest]) + ("..." if len(text) > longest else "")


def number(value: int) -> str:
    """The number in digits, or how long it is: converting an enormous number is slow and, at some length, refused."""
    if abs(value) < 10**MOST_DIGITS:
        return str(value)
    return f"{'-' if value < 0 else ''}(more than {MOST_DIGITS} digits)"


def at(where: Place | None, key: str) -> Place | None:
    """The position of a field: `$.exports[0]` becomes `$.exports[0].name`; a position in a source stays as it is."""
    return replace(where, path=f"{where.path}.{key}") if where and where.path else where


def in_description(where: Place | None) -> bool:
    """Whether the position lies in a description, whose language is JSON."""
    return where is not None and where.path != ""


def argument(where: Place | None, key: str, value: str | int | Sequence[str] | Sequence[int] | None) -> str:
    """One argument of the attribute: `name = "relu"`; in a description `"name": "relu"`. Lists take braces in C++."""
    text = json.dumps(value if isinstance(value, (str, int)) or value is None else list(value))
    if in_description(where):
        return f'`"{key}": {text}`'
    if text.startswith("[") and not _is_rust(where):
        text = "{" + text[1:-1] + "}"
    return f"`{key} = {text}`"


def parameter(where: Place | None, written: Parameter) -> str:
    """A parameter as its source spells it: `x: &[f32; 4]`, `const float (&x)[4]`, or its record in a description."""
    many = written.footprint != 1
    if in_description(where):
        return f"`{json.dumps(record(written))}`"
    if _is_rust(where):
        element = written.element.label
        elements = f"[{element}; {number(written.footprint)}]" if many else element
        reference = "" if written.by_value else "&mut " if written.access.writes else "&"
        return f"`{written.name}: {reference}{elements}`"
    element = ("const " if written.access is Access.IN and not written.by_value else "") + C_NAMES[written.element]
    if many:
        return f"`{element} (&{written.name})[{number(written.footprint)}]`"
    return f"`{element}{'' if written.by_value else '&'} {written.name}`"


def record(written: Parameter) -> dict[str, str | int | bool]:
    """The fields of a parameter in a description, in their order there."""
    return {
        "name": written.name,
        "element": written.element.label,
        "access": written.access.value,
        "footprint": written.footprint,
        "passing": "value" if written.by_value else "pointer",
        "return": written.is_return,
    }


def _is_rust(where: Place | None) -> bool:
    return where is not None and where.file.endswith(".rs")
