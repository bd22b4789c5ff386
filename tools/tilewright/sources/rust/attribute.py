"""The arguments of `#[tile_export(...)]`. Spec: Attribute arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tree_sitter import Node

from tilewright.exports.model import Sync
from tilewright.problem import Problem
from tilewright.sources.rust.grammar import COMMENTS, RustFile, string_value

EXAMPLE = "#[tile_export(tile_shape = 128)]"
_INTEGER = re.compile(r"(0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*)(?:[iu](?:8|16|32|64|128|size))?")
_LONGEST_INTEGER = 4000


@dataclass(frozen=True, slots=True)
class Attribute:
    """What the attribute says; None where the default of the export applies."""

    tile_shape: int | None = None
    name: str | None = None
    symbol: str | None = None
    sync: Sync = Sync.NONE
    arch: tuple[str, ...] = ()
    max_ulps: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One argument: `read` gives its value, or None when it is none of `expected`; `hint` is what to write instead."""

    read: Callable[[Node], int | str | Sync | tuple[str, ...] | None]
    expected: str
    hint: str


@dataclass
class Reading:
    """The attribute as far as it could be read, and the problems on the way."""

    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def attribute(self) -> Attribute:
        """The value; arguments that could not be read are left at their defaults."""
        return Attribute(**self.values)


def integer_literal(text: str) -> int | None:
    """The value of a Rust integer literal, None for anything else. `0x80`, `1_024` and `128u32` are literals."""
    match = _INTEGER.fullmatch(text)
    if not match or len(text) > _LONGEST_INTEGER:
        return None
    digits = match[1].replace("_", "")
    return int(digits, {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], 10)) if digits not in ("0x", "0b", "0o") else None


def _integer(node: Node) -> int | None:
    return integer_literal((node.text or b"").decode()) if node.type == "integer_literal" else None


def _sync(node: Node) -> Sync | None:
    text = string_value(node)
    return next((sync for sync in Sync if sync.value == text), None)


def _list(node: Node) -> tuple[str, ...] | None:
    if node.type != "token_tree" or node.children[0].type != "[":
        return None
    parts = [part for part in _split(node.children[1:-1]) if part]
    items = [string_value(part[0]) if len(part) == 1 else None for part in parts]
    strings = tuple(item for item in items if item is not None)
    return strings if strings and len(strings) == len(items) else None


ROWS = {
    "tile_shape": Row(
        _integer,
        "an integer literal",
        "write the number itself, tile_shape = 128: one symbol is shipped for each export, so the size must be known",
    ),
    "name": Row(string_value, "a plain string literal", 'name = "my_function"'),
    "symbol": Row(string_value, "a plain string literal", 'symbol = "my_function_impl"'),
    "sync": Row(_sync, '"none" or "warp"', 'sync = "warp"'),
    "arch": Row(
        _list,
        "a list of string literals",
        'arch = ["sm_90", "sm_120"]; leave arch out for every architecture',
    ),
    "max_ulps": Row(
        _integer,
        "an integer literal",
        "max_ulps = 4: how far, in units of the last place, a result may be off where libdevice rounds differently",
    ),
}


def read_attribute(file: RustFile, item: Node) -> Reading:
    """Reads one `attribute_item` of tile_export; every wrong argument is a problem at its own position."""
    reading = Reading()
    attribute = next(child for child in item.named_children if child.type == "attribute")
    if value := attribute.child_by_field_name("value"):
        hint = f"#[tile_export(tile_shape = {file.words(value)})]" if value.type == "integer_literal" else EXAMPLE
        reading.problems.append(file.problem(value, "tile_export takes its arguments in parentheses", hint))
    tree = attribute.child_by_field_name("arguments")
    if tree is None:
        return reading
    if tree.children[0].type != "(":
        reading.problems.append(file.problem(tree, "tile_export takes its arguments in parentheses", EXAMPLE))
        return reading
    parts = _split(tree.children[1:-1])
    for number, part in enumerate(parts):
        if part:
            reading.problems += _argument(file, part, reading)
        elif number < len(parts) - 1:
            what = "an argument of tile_export is missing between two commas"
            reading.problems.append(file.problem(tree, what, EXAMPLE))
    return reading


def _split(tokens: Sequence[Node]) -> list[list[Node]]:
    """The tokens cut at commas, comments left out."""
    parts: list[list[Node]] = [[]]
    for token in tokens:
        if token.type == ",":
            parts.append([])
        elif token.type not in COMMENTS:
            parts[-1].append(token)
    return parts


def _argument(file: RustFile, part: Sequence[Node], reading: Reading) -> Iterator[Problem]:
    text = _joined(file, part)
    if len(part) < 3 or part[0].type != "identifier" or part[1].type != "=":
        what = f"`{text}` is not an argument of the form name = value"
        yield file.problem(part[0], what, _form_hint(text), last=part[-1])
        return
    label, value = file.words(part[0]), part[2]
    row = ROWS.get(label)
    if row is None:
        close = get_close_matches(label, ROWS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"the arguments are {', '.join(ROWS)}"
        yield file.problem(part[0], f"tile_export has no argument `{label}`", hint)
    elif label in reading.given:
        yield file.problem(part[0], f"`{label}` is given twice", "keep one of the two")
    else:
        reading.given.add(label)
        read = row.read(value) if len(part) == 3 else None
        if read is None:
            written = _joined(file, part[2:])
            hint = _repaired(label, part[2:], written) or row.hint
            what = f"`{label}` is {row.expected}, not `{written}`"
            yield file.problem(value, what, hint, last=part[-1])
        else:
            reading.values[label] = read


def _joined(file: RustFile, part: Sequence[Node]) -> str:
    """The tokens as they were written, white space made one blank."""
    first = (part[0].text or b"") + file.text_between(part[0], part[-1])
    return " ".join(first.decode(errors="replace").split())


def _repaired(label: str, value: Sequence[Node], text: str) -> str:
    """The argument with quotes or brackets put where they were forgotten; empty when that is not the fault."""
    if len(value) != 1:
        return ""
    (node,) = value
    if node.type == "identifier" and (label in ("name", "symbol") or text in [sync.value for sync in Sync]):
        return f'{label} = "{text}"'
    if label in ("tile_shape", "max_ulps") and (digits := string_value(node)) and integer_literal(digits) is not None:
        return f"{label} = {digits}"
    if label == "arch" and node.type in ("string_literal", "identifier"):
        return f"arch = [{text}]" if node.type == "string_literal" else f'arch = ["{text}"]'
    return ""


def _form_hint(text: str) -> str:
    if integer_literal(text) is not None:
        return f"tile_shape = {text}"
    known = re.match(r"(\w+)\s*[(\[{:=]+\s*(.*?)[)\]}]*$", text)
    if known and known[1] in ROWS and known[2]:
        return f"{known[1]} = {known[2]}"
    return f"for example {EXAMPLE}"
