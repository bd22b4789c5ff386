"""The arguments of `[[tile_export(...)]]`. Spec: Attribute arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tree_sitter import Node

from tilewright.exports.model import Sync
from tilewright.exports.spelling import LONGEST_SHOWN, shown
from tilewright.problem import Problem
from tilewright.sources.cuda.grammar import Fragment, faults

EXAMPLE = "[[tile_export(tile_shape = 128)]]"
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU])")
_LONGEST_INTEGER = 4000


@dataclass(frozen=True, slots=True)
class Attribute:
    """What the attribute says; None where the default of the export applies."""

    tile_shape: int | None = None
    name: str | None = None
    symbol: str | None = None
    sync: Sync = Sync.NONE
    arch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One argument: `read` gives its value or the text of what is wrong; `hint` is what to write instead."""

    read: Callable[[Fragment, Node], int | str | Sync | tuple[str, ...] | None]
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
    """The value of a C++ integer literal, None for anything else. `0x80`, `0200` and `1'024u` are literals."""
    match = _INTEGER.fullmatch(text.replace("'", ""))
    if not match or len(text) > _LONGEST_INTEGER:
        return None
    digits = match[1]
    return int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)


def _integer(fragment: Fragment, node: Node) -> int | None:
    return integer_literal(fragment.text(node)) if node.type == "number_literal" else None


def _string(fragment: Fragment, node: Node) -> str | None:
    """A plain literal: no prefix, no escapes, not raw, not two in a row."""
    match = re.fullmatch(r'"([^"\\]*)"', fragment.text(node))
    return match[1] if match and node.type == "string_literal" else None


def _sync(fragment: Fragment, node: Node) -> Sync | None:
    text = _string(fragment, node)
    return next((sync for sync in Sync if sync.value == text), None)


def _list(fragment: Fragment, node: Node) -> tuple[str, ...] | None:
    if node.type != "initializer_list":
        return None
    items = [_string(fragment, child) for child in node.named_children if child.type != "comment"]
    strings = tuple(item for item in items if item is not None)
    return strings if strings and len(strings) == len(items) else None


ROWS = {
    "tile_shape": Row(
        _integer,
        "an integer literal",
        "write the number itself, tile_shape = 128: one symbol is shipped for each export, so the size must be known",
    ),
    "name": Row(_string, "a plain string literal", 'name = "my_function"'),
    "symbol": Row(_string, "a plain string literal", 'symbol = "my_function_impl"'),
    "sync": Row(_sync, '"none" or "warp"', 'sync = "warp"'),
    "arch": Row(
        _list,
        "a list of string literals in braces",
        'arch = {"sm_90", "sm_120"}; leave arch out for every architecture',
    ),
}


def read_attribute(fragment: Fragment, node: Node) -> Reading:
    """Reads one `attribute` node; every wrong argument is a problem at its own position."""
    reading = Reading()
    arguments = next((child for child in node.children if child.type == "argument_list"), None)
    if arguments is None:
        return reading
    if broken := next(faults(arguments), None):
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
        yield Problem(f"{shown(text)} is not an argument of the form name = value", where, hint=_form_hint(text))
        return
    label = fragment.text(name)
    row = ROWS.get(label)
    if row is None:
        close = get_close_matches(label, ROWS, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"the arguments are {', '.join(ROWS)}"
        yield Problem(f"tile_export has no argument `{label}`", where, hint=hint)
    elif label in reading.given:
        yield Problem(f"`{label}` is given twice", where, hint="keep one of the two")
    else:
        reading.given.add(label)
        read = row.read(fragment, value)
        if read is None:
            yield Problem(
                f"`{label}` is {row.expected}, not {shown(fragment.text(value))}",
                fragment.place(value),
                hint=_repaired(label, value, fragment.text(value)) or row.hint,
            )
        else:
            reading.values[label] = read


def _repaired(label: str, value: Node, text: str) -> str:
    """The argument with quotes or braces put where they were forgotten; empty when that is not the fault."""
    if value.type == "identifier" and (label in ("name", "symbol") or text in [sync.value for sync in Sync]):
        return f'{label} = "{text}"'
    if label == "arch" and value.type in ("string_literal", "identifier"):
        return f"arch = {{{text}}}" if value.type == "string_literal" else f'arch = {{"{text}"}}'
    return ""


def _form_hint(text: str) -> str:
    if integer_literal(text) is not None:
        return f"tile_shape = {text}"
    known = re.match(r"(\w+)\s*[({=:]+\s*(.*?)[)}]*$", text)
    if known and known[1] in ROWS and known[2] and len(text) <= LONGEST_SHOWN:
        return f"{known[1]} = {known[2]}"
    return f"for example {EXAMPLE}"


def _unreadable(fragment: Fragment, arguments: Node, broken: Node) -> Problem:
    text = fragment.text(arguments)
    hint = f"for example {EXAMPLE}"
    if (listed := re.search(r"=\s*\[([^\]]*)", text)) and len(listed[1]) <= LONGEST_SHOWN:
        hint = f"C++ writes a list in braces: arch = {{{listed[1].strip()}}}"
    return Problem(f"cannot read the arguments {shown(text)} of tile_export", fragment.place(broken), hint=hint)
