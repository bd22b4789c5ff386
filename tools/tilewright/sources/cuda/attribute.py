"""The arguments of `[[tile_export(...)]]`. Spec: Attribute arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from tilewright.exports.spelling import LONGEST_SHOWN, shown
from tilewright.problem import Problem
from tilewright.sources.attribute import LISTS, LONGEST_INTEGER, Notation, Reading, rows
from tilewright.sources.cuda.grammar import Fragment
from tilewright.sources.tree import faults

EXAMPLE = "[[tile_export(tile_shape = 128)]]"
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])")


def integer_literal(text: str) -> int | None:
    """The value of a C++ integer literal, None for anything else. `0x80`, `0200` and `1'024u` are literals."""
    match = _INTEGER.fullmatch(text.replace("'", ""))
    if not match or len(text) > LONGEST_INTEGER:
        return None
    digits = match[1]
    return int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)


def _integer(node: Node) -> int | None:
    return integer_literal((node.text or b"").decode()) if node.type == "number_literal" else None


def _items(node: Node) -> list[Node] | None:
    if node.type != "initializer_list":
        return None
    return [child for child in node.named_children if child.type != "comment"]


ROWS = rows(_integer, _items, "a list of {} literals in braces", "{}")
NOTATION = Notation(EXAMPLE, integer_literal, "{}", ROWS)


def read_attribute(fragment: Fragment, node: Node) -> Reading:
    """Reads one `attribute` node; every wrong argument is a problem at its own position."""
    reading = Reading()
    arguments = next((child for child in node.children if child.type == "argument_list"), None)
    if arguments is None:
        return reading
    if broken := next(faults([arguments]), None):
        reading.problems.append(_unreadable(fragment, arguments, broken))
        return reading
    for argument in arguments.named_children:
        if argument.type != "comment":
            reading.problems += _argument(fragment, argument, reading)
    return reading


def _argument(fragment: Fragment, node: Node, reading: Reading) -> Iterator[Problem]:
    where, text = fragment.place(node), fragment.text(node)
    name, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    assigned = node.type == "assignment_expression" and (operator is None or operator.type == "=")
    if not assigned or name is None or value is None or name.type != "identifier":
        yield Problem(
            f"{shown(text)} is not an argument of the form name = value", where, hint=NOTATION.form_hint(text)
        )
        return
    label = fragment.text(name)
    what, hint = reading.refused(label, ROWS)
    if what:
        yield Problem(what, where, hint=hint)
        return
    row, written = ROWS[label], fragment.text(value)
    read = row.read(value)
    if read is None:
        hint = NOTATION.repaired(label, value, written) or row.hint
        yield Problem(f"`{label}` is {row.expected}, not {shown(written)}", fragment.place(value), hint=hint)
    else:
        reading.values[label] = read


def _unreadable(fragment: Fragment, arguments: Node, broken: Node) -> Problem:
    text = fragment.text(arguments)
    hint = f"for example {EXAMPLE}"
    listed = re.search(rf"\b({'|'.join(LISTS)})\s*=\s*\[([^\]]*)", text)
    if listed and len(listed[2]) <= LONGEST_SHOWN:
        hint = f"C++ writes a list in braces: {listed[1]} = {{{listed[2].strip()}}}"
    return Problem(f"cannot read the arguments {shown(text)} of tile_export", fragment.place(broken), hint=hint)
