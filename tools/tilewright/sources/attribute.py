"""The arguments of the attribute `tile_export`, as far as every source language has them. Spec: Attribute arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from tree_sitter import Node

from tilewright.exports.model import Parameter, Sync, TileExport
from tilewright.exports.spelling import LONGEST_SHOWN, shown
from tilewright.problem import Place, Problem

LONGEST_INTEGER = 4000
"""Digits of an integer literal that is read: converting a longer one is refused by Python."""

LISTS = ("arch", "tile_shapes")
"""The arguments whose value is a list."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """What the attribute says; None where the default of the export applies."""

    tile_shape: int | None = None
    name: str | None = None
    symbol: str | None = None
    sync: Sync = Sync.NONE
    arch: tuple[str, ...] = ()
    max_ulps: int | None = None
    tile_shapes: tuple[int, ...] = ()

    def export_of(self, function: str, parameters: Iterable[Parameter], *, doc: str, where: Place) -> TileExport:
        """The export that the attribute makes of a function."""
        return TileExport(
            name=self.name if self.name is not None else function,
            symbol=self.symbol if self.symbol is not None else f"{function}_impl",
            function=function,
            parameters=tuple(parameters),
            tile_shape=self.tile_shape,
            sync=self.sync,
            arch=self.arch,
            doc=doc,
            max_ulps=self.max_ulps,
            tile_shapes=self.tile_shapes,
            where=where,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """One argument: `read` gives its value, or None when it is none of `expected`; `hint` is what to write instead."""

    read: Callable[[Node], int | str | Sync | tuple[str, ...] | tuple[int, ...] | None]
    expected: str
    hint: str


@dataclass(frozen=True, slots=True)
class Notation:
    """How a language writes the attribute: a sound example, integer literals, the brackets of a list, the arguments."""

    example: str
    integer: Callable[[str], int | None]
    brackets: str
    rows: Mapping[str, Row]

    def repaired(self, label: str, value: Node, text: str) -> str:
        """The argument with quotes or brackets put where they were forgotten; empty when that is not the fault."""
        if len(text) > LONGEST_SHOWN:
            return ""
        if value.type == "identifier" and (label in ("name", "symbol") or text in [sync.value for sync in Sync]):
            return f'{label} = "{text}"'
        if label in ("tile_shape", "max_ulps") and (digits := string_value(value)) and self.integer(digits) is not None:
            return f"{label} = {digits}"
        if label == "arch" and value.type in ("string_literal", "identifier"):
            return _listed("arch", text if value.type == "string_literal" else f'"{text}"', self.brackets)
        if label == "tile_shapes" and self.integer(text) is not None:
            return _listed("tile_shapes", text, self.brackets)
        if label == "tile_shape" and self.rows["tile_shapes"].read(value) is not None:
            return f"tile_shapes = {text}"
        return ""

    def form_hint(self, text: str) -> str:
        """The argument in the form name = value, where `text` shows what was meant; else the example."""
        if self.integer(text) is not None:
            return f"tile_shape = {text}"
        known = re.match(r"(\w+)\s*[(\[{:=]+\s*(.*?)[)\]}]*$", text)
        if known and known[1] in self.rows and known[2] and len(text) <= LONGEST_SHOWN:
            return _listed(known[1], known[2], self.brackets) if known[1] in LISTS else f"{known[1]} = {known[2]}"
        return f"for example {self.example}"


@dataclass
class Reading:
    """The attribute as far as it could be read, and the problems on the way."""

    values: dict[str, Any] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def attribute(self) -> Attribute:
        """The value; arguments that could not be read are left at their defaults."""
        return Attribute(**self.values)

    def refused(self, label: str, rows: Mapping[str, Row]) -> tuple[str, str]:
        """What is wrong with giving an argument of that name, and what to do instead; both empty for nothing."""
        if label not in rows:
            close = get_close_matches(label[:LONGEST_SHOWN], rows, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"the arguments are {', '.join(rows)}"
            return f"tile_export has no argument {shown(label)}", hint
        if label in self.given:
            return f"`{label}` is given twice", "keep one of the two"
        self.given.add(label)
        return "", ""


def _listed(label: str, items: str, brackets: str) -> str:
    return f"{label} = {brackets[0]}{items}{brackets[1]}"


def string_value(node: Node) -> str | None:
    """The text of a plain string literal: no prefix, no escapes, not raw, not two in a row. None for another node."""
    match = re.fullmatch(r'"([^"\\]*)"', (node.text or b"").decode(errors="replace"))
    return match[1] if match and node.type == "string_literal" else None


def sync_value(node: Node) -> Sync | None:
    """The value of a string literal that names one."""
    text = string_value(node)
    return next((sync for sync in Sync if sync.value == text), None)


def rows(
    integer: Callable[[Node], int | None],
    items: Callable[[Node], list[Node] | None],
    kind: str,
    brackets: str,
) -> dict[str, Row]:
    """The arguments that every language has; `items` are those of a list, `kind` what a language calls one of them."""
    example = _listed("arch", '"sm_90", "sm_120"', brackets)

    def strings(node: Node) -> tuple[str, ...] | None:
        read = [string_value(item) for item in items(node) or ()]
        found = tuple(item for item in read if item is not None)
        return found if found and len(found) == len(read) else None

    def integers(node: Node) -> tuple[int, ...] | None:
        read = [integer(item) for item in items(node) or ()]
        found = tuple(item for item in read if item is not None)
        return found if found and len(found) == len(read) else None

    return {
        "tile_shape": Row(
            integer,
            "an integer literal",
            "write the number itself, tile_shape = 128: one symbol is shipped for each export, "
            "so the size must be known",
        ),
        "tile_shapes": Row(
            integers,
            kind.format("integer"),
            f"{_listed('tile_shapes', '64, 128', brackets)}: the sizes that a static library carries of an export "
            "without tile_shape",
        ),
        "name": Row(string_value, "a plain string literal", 'name = "my_function"'),
        "symbol": Row(string_value, "a plain string literal", 'symbol = "my_function_impl"'),
        "sync": Row(sync_value, '"none" or "warp"', 'sync = "warp"'),
        "arch": Row(strings, kind.format("string"), f"{example}; leave arch out for every architecture"),
        "max_ulps": Row(
            integer,
            "an integer literal",
            "max_ulps = 4: how far, in units of the last place, a result may be off where libdevice rounds differently",
        ),
    }
