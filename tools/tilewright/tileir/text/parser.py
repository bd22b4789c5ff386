"""Text to TileIR.

The parser checks spelling and structure of the text only: whatever parses is a module, valid or not, and the verifier
judges it. Operations carry the position of their line.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import NoReturn, TypeVar

from tilewright.problem import Place, Problem
from tilewright.tileir.dims import Axis, Dim, Extent, IndexSpace
from tilewright.tileir.errors import TileIRError
from tilewright.tileir.graph import Attribute, Block, Function, Module, Operation, Region, Value
from tilewright.tileir.index_map import Coordinate, IndexBinary, IndexConstant, IndexExpr, IndexMap, IndexOperator
from tilewright.tileir.ops import BY_KIND
from tilewright.tileir.text.lexer import Token, tokens
from tilewright.tileir.text.printer import HEADER
from tilewright.tileir.types import INDEX, STATE, Element, MemoryType, OpaqueType, ScalarType, TileType, Type, ViewType
from tilewright.tileir.vocabulary import Bounds, Form, Kind, Opcode, Resource, Scope

Member = TypeVar("Member", bound=Enum)
Item = TypeVar("Item")

OPCODES = {opcode.label: opcode for opcode in Opcode}
KINDS = {kind.value: kind for kind in Kind if kind is not Kind.ELEMENTWISE}
SPACED: dict[str, type[TileType | ViewType | MemoryType]] = {"tile": TileType, "view": ViewType, "memory": MemoryType}
MAX_DIGITS = 20
OPERATORS = {operator.value: operator for operator in IndexOperator}


def parse_module(text: str, file: str = "<text>") -> Module:
    """The module that `print_module` printed; TileIRError with the position of the first fault otherwise."""
    try:
        return Parser(text, file).module()
    except RecursionError:
        raise TileIRError([Problem("nested too deeply to be read", Place(file), rule="nested-too-deeply")]) from None


def read_module(path: Path, name: str | None = None) -> Module:
    """Parses a file; messages call it `name`, or by its own name."""
    return parse_module(path.read_text(encoding="utf-8"), name or path.name)


class Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, file: str) -> None:
        self.tokens = list(tokens(text, file))
        self.position = 0
        self.result = Module()
        self.dims: dict[str, Dim] = {}
        self.values: dict[str, Value] = {}

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def fail(self, what: str, token: Token | None = None, hint: str = "", rule: str = "bad-text") -> NoReturn:
        raise TileIRError([Problem(what, (token or self.token).where, hint=hint, rule=rule)])

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":
            self.position += 1
        return token

    def at(self, text: str) -> bool:
        return self.token.kind != "string" and self.token.text == text

    def accept(self, text: str) -> bool:
        found = self.at(text)
        if found:
            self.take()
        return found

    def expect(self, text: str) -> Token:
        if not self.at(text):
            self.fail(f"expected `{text}`, found `{self.token.text}`")
        return self.take()

    def expect_kind(self, kind: str, noun: str) -> Token:
        if self.token.kind != kind:
            self.fail(f"expected {noun}, found `{self.token.text}`")
        return self.take()

    def member(self, choices: dict[str, Item], noun: str) -> Item:
        """One of the spellings of a table; the error lists them or offers the nearest."""
        token = self.expect_kind("name", noun)
        if token.text not in choices:
            near = get_close_matches(token.text, choices, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"one of {', '.join(choices)}"
            self.fail(f"`{token.text}` is no {noun}", token, hint, rule="unknown-word")
        return choices[token.text]

    def string(self, noun: str) -> str:
        token = self.expect_kind("string", noun)
        try:
            return str(json.loads(token.text))
        except json.JSONDecodeError:
            self.fail(f"malformed string {token.text}", token)

    def integer(self, noun: str) -> int:
        token = self.expect_kind("number", noun)
        if not token.text.removeprefix("-").isdigit():
            self.fail(f"expected {noun}, found `{token.text}`", token)
        return self.whole(token, token.text)

    def whole(self, token: Token, digits: str) -> int:
        """The integer of those digits; more than 64 bits need are refused."""
        if len(digits) > MAX_DIGITS:
            self.fail(f"an integer of {len(digits)} digits fits no 64 bits", token)
        return int(digits)

    def listed(self, opening: str, closing: str, item: Callable[[], Item]) -> list[Item]:
        """`opening item, item, ... closing`."""
        self.expect(opening)
        items: list[Item] = []
        while not self.at(closing):
            items.append(item())
            if not self.at(closing):
                self.expect(",")
        self.expect(closing)
        return items

    def module(self) -> Module:
        word, version = HEADER.split()
        self.expect(word)
        if self.token.text != version:
            self.fail(f"text of version {self.token.text}; this reader knows version {version}", rule="other-version")
        self.take()
        while self.at("dim"):
            self.take()
            token = self.expect_kind("name", "a dim")
            if token.text in self.dims:
                self.fail(f"dim `{token.text}` is declared twice", token, rule="declared-twice")
            name = self.string("a name") if self.token.kind == "string" else token.text.partition("#")[0]
            self.dims[token.text] = self.result.dim(name)
        while self.token.kind != "end":
            self.function()
        return self.result

    def function(self) -> Function:
        self.expect("func")
        name = self.string("the name of the function")
        function = self.result.function(name, self.member({form.value: form for form in Form}, "form"))
        self.values = {}
        self.arguments(function.body.block)
        self.expect("{")
        self.operations(function.body.block)
        self.expect("}")
        return function

    def arguments(self, block: Block) -> None:
        def argument() -> None:
            token = self.expect_kind("value", "a value")
            name = self.string("a name") if self.token.kind == "string" else ""
            self.expect(":")
            self.define(token, block.add_argument(self.type(), name))

        self.listed("(", ")", argument)

    def define(self, token: Token, value: Value) -> None:
        if token.text in self.values:
            self.fail(f"{token.text} is defined twice", token, rule="declared-twice")
        self.values[token.text] = value

    def operations(self, block: Block) -> None:
        while not self.at("}") and not self.at("^"):
            self.operation(block)

    def operation(self, block: Block) -> None:
        first = self.token
        results: list[tuple[Token, str]] = []
        while self.token.kind == "value":
            token = self.take()
            results.append((token, self.string("a name") if self.token.kind == "string" else ""))
            if not self.accept(","):
                self.expect("=")
                break
        choices: dict[str, Kind | Opcode] = {**KINDS, **OPCODES}
        word = self.member(choices, "operation")
        kind, opcode = (Kind.ELEMENTWISE, word) if isinstance(word, Opcode) else (word, None)
        operands = self.listed("(", ")", self.operand)
        domain = self.space() if self.at("[") else None
        scope = self.keyword("scope", Scope)
        resource = self.keyword("resource", Resource)
        bounds = self.keyword("bounds", Bounds)
        layout = self.layout() if self.accept("layout") else None
        attributes = self.attributes() if self.at_attributes() else {}
        types: list[Type] = []
        if self.accept(":"):
            types.append(self.type())
            while self.accept(","):
                types.append(self.type())
        if len(types) != len(results):
            self.fail(f"{len(results)} results but {len(types)} result types", first, rule="result-count")
        operation = BY_KIND[kind](
            block.region.function,
            operands,
            domain=domain,
            scope=scope,
            resource=resource,
            layout=layout,
            bounds=bounds,
            opcode=opcode,
            attributes=attributes,
            place=first.where,
        )
        block.append(operation)
        while self.accept("{"):
            self.region(operation)
            self.expect("}")
        for (token, name), type in zip(results, types, strict=True):
            self.define(token, operation.add_result(type, name))

    def region(self, operation: Operation) -> None:
        region = Region(operation.function, operation)
        region.blocks.clear()
        operation.regions.append(region)
        while self.accept("^"):
            block = Block(region)
            region.blocks.append(block)
            self.arguments(block)
            self.expect(":")
            self.operations(block)

    def operand(self) -> Value:
        token = self.expect_kind("value", "a value")
        if token.text not in self.values:
            self.fail(f"{token.text} is not defined before its use", token, rule="undefined-value")
        return self.values[token.text]

    def keyword(self, word: str, members: type[Member]) -> Member | None:
        if not self.accept(word):
            return None
        return self.member({str(member.value): member for member in members}, word)

    def at_attributes(self) -> bool:
        """`{ name =` opens attributes; any other brace opens a region."""
        after = self.tokens[self.position + 1 : self.position + 3]
        return self.at("{") and [token.kind for token in after[:1]] == ["name"] and after[1].text == "="

    def attributes(self) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}

        def pair() -> None:
            name = self.expect_kind("name", "the name of an attribute")
            if name.text in found:
                self.fail(f"attribute `{name.text}` is given twice", name, rule="declared-twice")
            self.expect("=")
            found[name.text] = self.attribute()

        self.listed("{", "}", pair)
        return found

    def attribute(self) -> Attribute:
        if self.token.kind == "string":
            return self.string("a string")
        token = self.take()
        if token.text in ("true", "false"):
            return token.text == "true"
        if token.kind != "number" and token.text not in ("inf", "nan"):
            self.fail(f"expected the value of an attribute, found `{token.text}`", token)
        digits = token.text.removeprefix("-")
        return self.whole(token, token.text) if digits.isdigit() else float(token.text)

    def dim(self) -> Dim:
        token = self.expect_kind("name", "a dim")
        if token.text not in self.dims:
            self.fail(f"dim `{token.text}` is not declared", token, f"write `dim {token.text}` first", "undeclared-dim")
        return self.dims[token.text]

    def space(self) -> IndexSpace:
        def axis() -> Axis:
            dim = self.dim()
            self.expect("=")
            extent: Extent = self.dim() if self.token.kind == "name" else self.integer("an extent")
            return Axis(dim, extent)

        return IndexSpace(tuple(self.listed("[", "]", axis)))

    def layout(self) -> IndexMap:
        domain = self.space()
        self.expect("->")
        codomain = self.space()
        self.expect(":")
        return IndexMap(domain, codomain, tuple(self.listed("(", ")", self.expression)))

    def expression(self) -> IndexExpr:
        if self.accept("("):
            left = self.expression()
            token = self.take()
            if token.text not in OPERATORS:
                self.fail(f"`{token.text}` is no index operator", token, f"one of {' '.join(OPERATORS)}")
            right = self.expression()
            self.expect(")")
            return IndexBinary(OPERATORS[token.text], left, right)
        if self.token.kind == "name" and self.token.text[:1] == "c" and self.token.text[1:].isdigit():
            token = self.take()
            return Coordinate(self.whole(token, token.text[1:]))
        return IndexConstant(self.integer("an index expression"))

    def type(self) -> Type:
        token = self.expect_kind("name", "a type")
        simple: dict[str, Type] = {"index": INDEX, "state": STATE}
        if token.text in simple:
            return simple[token.text]
        if token.text == "opaque":
            self.expect("<")
            name = self.string("the name of the type")
            self.expect(">")
            return OpaqueType(name)
        if token.text in SPACED:
            self.expect("<")
            element = self.element(self.take())
            self.expect(",")
            space = self.space()
            self.expect(">")
            return SPACED[token.text](element, space)
        return ScalarType(self.element(token))

    def element(self, token: Token) -> Element:
        element = Element.named(token.text)
        if element is None:
            choices = ", ".join(each.label for each in Element)
            self.fail(f"`{token.text}` is no element type", token, f"one of {choices}", rule="unknown-word")
        return element
