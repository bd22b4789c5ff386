"""The arguments of `#[tile_export(...)]`. Spec: Attribute arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from tilewright.exports.spelling import shown
from tilewright.problem import Problem
from tilewright.sources.attribute import LONGEST_INTEGER, Notation, Reading, rows
from tilewright.sources.rust.grammar import COMMENTS, RustFile

EXAMPLE = "#[tile_export(tile_shape = 128)]"
_INTEGER = re.compile(r"(0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+|[0-9][0-9_]*)(?:[iu](?:8|16|32|64|128|size))?")


def integer_literal(text: str) -> int | None:
    """The value of a Rust integer literal, None for anything else. `0x80`, `1_024` and `128u32` are literals."""
    match = _INTEGER.fullmatch(text)
    if not match or len(text) > LONGEST_INTEGER:
        return None
    digits = match[1].replace("_", "")
    return int(digits, {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], 10)) if digits not in ("0x", "0b", "0o") else None


def _integer(node: Node) -> int | None:
    return integer_literal((node.text or b"").decode()) if node.type == "integer_literal" else None


def _items(node: Node) -> list[Node] | None:
    if node.type != "token_tree" or node.children[0].type != "[":
        return None
    parts = [part for part in _split(node.children[1:-1]) if part]
    return [part[0] for part in parts] if all(len(part) == 1 for part in parts) else None


ROWS = rows(_integer, _items, "a list of {} literals", "[]")
NOTATION = Notation(EXAMPLE, integer_literal, "[]", ROWS)


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
        what = f"{shown(text)} is not an argument of the form name = value"
        yield file.problem(part[0], what, NOTATION.form_hint(text), last=part[-1])
        return
    label, value = file.words(part[0]), part[2]
    what, hint = reading.refused(label, ROWS)
    if what:
        yield file.problem(part[0], what, hint)
        return
    row = ROWS[label]
    read = row.read(value) if len(part) == 3 else None
    if read is None:
        written = _joined(file, part[2:])
        hint = (NOTATION.repaired(label, value, written) if len(part) == 3 else "") or row.hint
        yield file.problem(value, f"`{label}` is {row.expected}, not {shown(written)}", hint, last=part[-1])
    else:
        reading.values[label] = read


def _joined(file: RustFile, part: Sequence[Node]) -> str:
    """The tokens as they were written, white space made one blank."""
    first = (part[0].text or b"") + file.text_between(part[0], part[-1])
    return " ".join(first.decode(errors="replace").split())
