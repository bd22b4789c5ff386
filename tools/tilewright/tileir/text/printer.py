"""TileIR to text.

One uniform shape an operation, so that a reader and the parser need one rule:
`%1 "name", %2 = kind(%operands) [domain] keyword value... {attribute = value} : types { body }`.
Values are numbered in textual order and dims are declared first, so equal structure gives equal text whatever ids the
building left behind. User positions are not part of the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.graph import Attribute, Block, Function, Module, Operation, Value
from tilewright.tileir.index_map import IndexMap
from tilewright.tileir.types import MemoryType, OpaqueType, TileType, Type, ViewType

HEADER = "tileir 1"
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*")
INDENT = "  "


def print_module(module: Module) -> str:
    """The whole module, with a final newline; `parse_module` reads it back."""
    tokens = dim_tokens(module)
    lines = [HEADER]
    for dim, token in tokens.items():
        shown = token.partition("#")[0]
        lines.append(f"dim {token}" if shown == dim.name else f"dim {token} {quoted(dim.name)}")
    for function in module.functions:
        lines.append("")
        lines += FunctionPrinter(function, tokens).lines()
    return "\n".join(lines) + "\n"


def print_function(function: Function) -> str:
    """The function alone, for messages and tests; dims get the tokens they have in the module's text."""
    tokens = dim_tokens(function.module) if function.module else {}
    return "\n".join(FunctionPrinter(function, tokens).lines()) + "\n"


def dim_tokens(module: Module) -> dict[Dim, str]:
    """A unique token a dim: its name, or `name#1` when the name is taken, or `dim#1` when it is no plain name."""
    tokens: dict[Dim, str] = {}
    taken: dict[str, int] = {}
    for dim in module.dims:
        stem = dim.name if PLAIN_NAME.fullmatch(dim.name) else "dim"
        count = taken.get(stem, 0)
        taken[stem] = count + 1
        tokens[dim] = f"{stem}#{count}" if count else stem
    return tokens


def quoted(text: str) -> str:
    """A string literal of the text form (JSON, ASCII)."""
    return json.dumps(text)


def attribute_text(value: Attribute) -> str:
    """`true`, `3`, `0.5`, `inf`, `"text"`; a float always shows that it is one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    return str(value)


class FunctionPrinter:
    """Prints one function; holds the numbers given to its values."""

    def __init__(self, function: Function, tokens: dict[Dim, str]) -> None:
        self.function = function
        self.tokens = tokens
        self.numbers: dict[Value, int] = {}

    def lines(self) -> Iterator[str]:
        block = self.function.body.block
        parameters = ", ".join(f"{self.define(value)}: {self.type(value.type)}" for value in block.arguments)
        yield f"func {quoted(self.function.name)} {self.function.form.value} ({parameters}) {{"
        for operation in block.operations:
            yield from self.operation(operation, INDENT)
        yield "}"

    def define(self, value: Value) -> str:
        number = self.numbers.setdefault(value, len(self.numbers))
        return f"%{number} {quoted(value.name)}" if value.name else f"%{number}"

    def use(self, value: Value) -> str:
        """A value of elsewhere prints as `%?`, so that an invalid function can still be shown."""
        return f"%{self.numbers[value]}" if value in self.numbers else "%?"

    def operation(self, operation: Operation, indent: str) -> Iterator[str]:
        head = self.head(operation)
        if not operation.regions:
            yield indent + head
            return
        yield f"{indent}{head} {{"
        for place, region in enumerate(operation.regions):
            if place:
                yield f"{indent}}} {{"
            for block in region.blocks:
                yield from self.block(block, indent)
        yield f"{indent}}}"

    def block(self, block: Block, indent: str) -> Iterator[str]:
        arguments = ", ".join(f"{self.define(value)}: {self.type(value.type)}" for value in block.arguments)
        yield f"{indent}^({arguments}):"
        for operation in block.operations:
            yield from self.operation(operation, indent + INDENT)

    def head(self, operation: Operation) -> str:
        operands = ", ".join(self.use(value) for value in operation.operands)
        results = ", ".join(self.define(value) for value in operation.results)
        name = operation.opcode.label if operation.opcode else operation.kind.value
        parts = [f"{results} = {name}({operands})" if results else f"{name}({operands})"]
        if operation.domain is not None:
            parts.append(self.space(operation.domain))
        for keyword, member in (
            ("scope", operation.scope),
            ("resource", operation.resource),
            ("bounds", operation.bounds),
        ):
            if member is not None:
                parts.append(f"{keyword} {member.value}")
        if operation.layout is not None:
            parts.append(f"layout {self.layout(operation.layout)}")
        if operation.attributes:
            pairs = (f"{name} = {attribute_text(value)}" for name, value in operation.attributes.items())
            parts.append(f"{{{', '.join(pairs)}}}")
        if operation.results:
            parts.append(": " + ", ".join(self.type(value.type) for value in operation.results))
        return " ".join(parts)

    def dim(self, dim: Dim) -> str:
        return self.tokens.get(dim, f"?{dim.name}")

    def space(self, space: IndexSpace) -> str:
        axes = (
            f"{self.dim(axis.dim)}={self.dim(axis.extent) if isinstance(axis.extent, Dim) else axis.extent}"
            for axis in space.axes
        )
        return f"[{', '.join(axes)}]"

    def layout(self, layout: IndexMap) -> str:
        images = ", ".join(str(each) for each in layout.expressions)
        return f"{self.space(layout.domain)} -> {self.space(layout.codomain)} : ({images})"

    def type(self, type: Type) -> str:
        if isinstance(type, TileType | ViewType | MemoryType):
            word = {TileType: "tile", ViewType: "view", MemoryType: "memory"}[type.__class__]
            return f"{word}<{type.element}, {self.space(type.space)}>"
        return f"opaque<{quoted(type.name)}>" if isinstance(type, OpaqueType) else str(type)
