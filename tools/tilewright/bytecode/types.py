"""The types with parameters: tile, fragment, function, and a data type parameter used as an element type.

One frozen dataclass a type, fields in the order of the encoding; `TYPES` is the tag table.  What a type may be made
of is limited to what Tile IR allows: elements are no tiles, arguments are no functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias, cast

from tilewright.bytecode.attributes import MemorySpace
from tilewright.bytecode.cursor import Cursor, Readable, read_tagged
from tilewright.bytecode.expressions import Expression, Int, Layout, SymbolicTuple, Var, read_expression
from tilewright.bytecode.plain_types import PLAIN_TYPES, PlainType
from tilewright.bytecode.sink import I64_MIN, Sink, tagged
from tilewright.bytecode.spelling import bare_or_quoted

DEFAULT_ALIGNMENT = Int(1)


@dataclass(frozen=True, slots=True)
class SymbolicElement:
    """`preview$sym_t`: the element type that the constant parameter of that name stands for."""

    tag: ClassVar[int] = 209
    name: Var

    def body(self, out: Sink) -> None:
        tagged(out, self.name)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        start = cursor.position
        name = read_expression(cursor, "the name of an element type")
        if not isinstance(name, Var):
            raise cursor.fault("the name of an element type is not a variable", start)
        return cls(name)

    def text(self) -> str:
        return f"!cuda_tile.preview$sym_t<{bare_or_quoted(self.name.name)}>"


Element: TypeAlias = PlainType | SymbolicElement


def read_element(cursor: Cursor, field: str) -> Element:
    """The index of a type that a tile or a fragment can be made of."""
    start = cursor.position
    element = cursor.type(field)
    if isinstance(element, SymbolicElement) or (isinstance(element, PlainType) and element.is_element):
        return element
    raise cursor.fault(f"{field} is `{element.text()}`, not an element type", start)


def write_extents(out: Sink, extents: tuple[Expression, ...]) -> None:
    """Rank, then eight bytes an extent, the smallest number where it is symbolic."""
    out.uvar(len(extents))
    for extent in extents:
        out.i64(extent.value if isinstance(extent, Int) else I64_MIN)


def read_extents(cursor: Cursor, field: str) -> tuple[int, ...]:
    """Rank and extents; `I64_MIN` marks a symbolic one."""
    count = cursor.count(f"extents of {field}", 8)
    return tuple(cursor.i64(f"an extent of {field}") for _ in range(count))


def read_shape(cursor: Cursor, extents: tuple[int, ...], shape: SymbolicTuple, start: int) -> SymbolicTuple:
    """The symbolic shape, after a comparison with the extents that stand beside it."""
    expected = tuple(part.value if isinstance(part, Int) else I64_MIN for part in shape.parts)
    if extents != expected:
        raise cursor.fault("the symbolic shape and the extents beside it differ", start)
    return shape


def shape_text(shape: SymbolicTuple, element: Element) -> str:
    """`128xf32`, `[N]xf32`; a shape without extents leaves the element alone."""
    parts = (str(part.value) if isinstance(part, Int) else f"[{part.short() or part.text()}]" for part in shape.parts)
    return "x".join([*parts, element.text().removeprefix("!cuda_tile.")])


@dataclass(frozen=True, slots=True)
class Tile:
    """`tile`: element type and shape. A symbolic shape follows the extents as one more attribute."""

    tag: ClassVar[int] = 13
    element: Element
    shape: SymbolicTuple

    def body(self, out: Sink) -> None:
        out.type(self.element)
        write_extents(out, self.shape.parts)
        if not all(isinstance(part, Int) for part in self.shape.parts):
            tagged(out, self.shape)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        element = read_element(cursor, "the element type of a tile")
        start = cursor.position
        extents = read_extents(cursor, "a tile")
        if not cursor.remaining:
            if I64_MIN in extents:
                raise cursor.fault("a tile with a symbolic extent lacks its symbolic shape", start)
            return cls(element, SymbolicTuple(tuple(map(Int, extents))))
        shape = read_tagged(cursor, {SymbolicTuple.tag: SymbolicTuple}, "the symbolic shape of a tile")
        return cls(element, read_shape(cursor, extents, shape, start))

    def text(self) -> str:
        return f"!cuda_tile.tile<{shape_text(self.shape, self.element)}>"


@dataclass(frozen=True, slots=True)
class Fragment:
    """`preview$fragment`: the piece of a tile that one invocation sees. Spec: Reading the dump.

    `mem_layout` is the layout of its own buffer, `fragmap` maps (invocations, participants, footprint) onto the
    tile, `alignment` counts elements and is not printed when it is 1.
    """

    tag: ClassVar[int] = 210
    shape: SymbolicTuple
    element: Element
    memory_space: MemorySpace
    mem_layout: Layout
    fragmap: Layout
    alignment: Expression = DEFAULT_ALIGNMENT

    def body(self, out: Sink) -> None:
        tagged(out, self.shape)
        write_extents(out, self.shape.parts)
        out.type(self.element)
        self.memory_space.body(out)
        tagged(out, self.mem_layout)
        tagged(out, self.fragmap)
        tagged(out, self.alignment)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        start = cursor.position
        shape = read_tagged(cursor, {SymbolicTuple.tag: SymbolicTuple}, "the shape of a fragment")
        read_shape(cursor, read_extents(cursor, "a fragment"), shape, start)
        return cls(
            shape,
            read_element(cursor, "the element type of a fragment"),
            MemorySpace.read(cursor),
            read_tagged(cursor, {Layout.tag: Layout}, "the mem_layout of a fragment"),
            read_tagged(cursor, {Layout.tag: Layout}, "the fragmap of a fragment"),
            read_expression(cursor, "the alignment of a fragment"),
        )

    def text(self) -> str:
        parts = [
            shape_text(self.shape, self.element),
            self.memory_space.keyword,
            f"mem_layout = {self.mem_layout.text()}",
            f"fragmap = {self.fragmap.text()}",
        ]
        if self.alignment != DEFAULT_ALIGNMENT:
            parts.append(f"alignment = {self.alignment.short() or self.alignment.text()}")
        return f"!cuda_tile.preview$fragment<{', '.join(parts)}>"


Value: TypeAlias = PlainType | SymbolicElement | Tile | Fragment


@dataclass(frozen=True, slots=True)
class Function:
    """A function type: argument types, then result types."""

    tag: ClassVar[int] = 16
    arguments: tuple[Value, ...]
    results: tuple[Value, ...]

    def body(self, out: Sink) -> None:
        for values in (self.arguments, self.results):
            out.uvar(len(values))
            for value in values:
                out.type(value)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        arguments = tuple(read_value(cursor, "an argument") for _ in range(cursor.count("argument types")))
        return cls(arguments, tuple(read_value(cursor, "a result") for _ in range(cursor.count("result types"))))

    def text(self) -> str:
        arguments = ", ".join(argument.text() for argument in self.arguments)
        return f"({arguments}) -> {results_text([result.text() for result in self.results])}"


def results_text(results: Sequence[str]) -> str:
    """One result stands alone, several or none in parentheses."""
    return results[0] if len(results) == 1 else f"({', '.join(results)})"


def read_value(cursor: Cursor, field: str) -> Value:
    """The index of a type that is not a function type."""
    start = cursor.position
    value = cursor.type(f"the type of {field}")
    if isinstance(value, Function):
        raise cursor.fault(f"{field} has a function type", start)
    return cast(Value, value)


Type: TypeAlias = Value | Function

TYPES: dict[int, type[Readable]] = {kind.tag: kind for kind in (Tile, Function, SymbolicElement, Fragment)}


def read_type(cursor: Cursor) -> Type:
    """One item of the type table."""
    start = cursor.position
    tag = cursor.uvar("the tag of a type")
    if (plain := PLAIN_TYPES.get(tag)) is not None:
        return plain
    cursor.position = start
    return cast(Type, read_tagged(cursor, TYPES, "a type"))
