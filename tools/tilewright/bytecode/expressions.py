"""Symbolic expressions: the numbers in shapes and layouts, which may depend on constant parameters.

One frozen dataclass an expression, fields in the order of the encoding; `EXPRESSIONS` is the tag table.  Each has two
spellings: `text`, the attribute, and `short`, the one inside a shape or layout such as `N / 32`, which is None where
the short spelling would be ambiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias, cast

from tilewright.bytecode.cursor import Cursor, read_tagged
from tilewright.bytecode.plain_types import PlainType
from tilewright.bytecode.sink import Sink, tagged
from tilewright.bytecode.spelling import is_bare, quoted

WILDCARD = "?"
"""The name of a constant parameter that stands for any."""


def read_expression(cursor: Cursor, field: str) -> Expression:
    """A self-contained expression."""
    return cast(Expression, read_tagged(cursor, EXPRESSIONS, field))


@dataclass(frozen=True, slots=True)
class Int:
    """`expr_int`: a number, zigzag. 128 is `D1 01 80 02`."""

    tag: ClassVar[int] = 209
    value: int

    def body(self, out: Sink) -> None:
        out.svar(self.value)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(cursor.svar("an integer expression"))

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_int<{self.value}>"

    def short(self) -> str | None:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class Var:
    """`expr_var`: the value of a constant parameter, by name."""

    tag: ClassVar[int] = 210
    name: str

    def body(self, out: Sink) -> None:
        out.string(self.name)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(cursor.string("the name of a variable"))

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_var<{quoted(self.name)}>"

    def short(self) -> str | None:
        return self.name if is_bare(self.name) or self.name == WILDCARD else None


@dataclass(frozen=True, slots=True)
class Binary:
    """What the six operations share: left side, right side, both self-contained."""

    tag: ClassVar[int]
    label: ClassVar[str]
    sign: ClassVar[str]
    rank: ClassVar[int]
    lhs: Expression
    rhs: Expression

    def body(self, out: Sink) -> None:
        tagged(out, self.lhs)
        tagged(out, self.rhs)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        lhs = read_expression(cursor, "a left operand")
        return cls(lhs, read_expression(cursor, "a right operand"))

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_{self.label}<{self.lhs.text()}, {self.rhs.text()}>"

    def short(self) -> str | None:
        """Operations associate to the left: `N - M - K`, but `N - (M - K)`."""
        lhs, rhs = self.lhs.short(), self.rhs.short()
        if lhs is None or rhs is None or not self.sign:
            return None
        if isinstance(self.lhs, Binary) and self.lhs.rank < self.rank:
            lhs = f"({lhs})"
        if isinstance(self.rhs, Binary) and self.rhs.rank <= self.rank:
            rhs = f"({rhs})"
        return f"{lhs} {self.sign} {rhs}"


@dataclass(frozen=True, slots=True)
class Mul(Binary):
    """`expr_mul`."""

    tag: ClassVar[int] = 211
    label: ClassVar[str] = "mul"
    sign: ClassVar[str] = "*"
    rank: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Div(Binary):
    """`expr_div`: exact division; the one operation without a short spelling."""

    tag: ClassVar[int] = 212
    label: ClassVar[str] = "div"
    sign: ClassVar[str] = ""
    rank: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Add(Binary):
    """`expr_add`."""

    tag: ClassVar[int] = 213
    label: ClassVar[str] = "add"
    sign: ClassVar[str] = "+"
    rank: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Sub(Binary):
    """`expr_sub`."""

    tag: ClassVar[int] = 214
    label: ClassVar[str] = "sub"
    sign: ClassVar[str] = "-"
    rank: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class FloorDiv(Binary):
    """`expr_floor_div`: rounds towards minus infinity."""

    tag: ClassVar[int] = 215
    label: ClassVar[str] = "floor_div"
    sign: ClassVar[str] = "/"
    rank: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class SymbolicTuple:
    """`symbolic_tuple`: expressions, tuples among them."""

    tag: ClassVar[int] = 216
    parts: tuple[Expression, ...]

    def body(self, out: Sink) -> None:
        out.uvar(len(self.parts))
        for part in self.parts:
            tagged(out, part)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        count = cursor.count("parts of a symbolic tuple")
        return cls(tuple(read_expression(cursor, "a part of a symbolic tuple") for _ in range(count)))

    def text(self) -> str:
        return f"#cuda_tile.preview$symbolic_tuple<[{', '.join(part.text() for part in self.parts)}]>"

    def short(self) -> str | None:
        parts = [part.short() for part in self.parts]
        known = [part for part in parts if part is not None]
        return f"({', '.join(known)})" if len(known) == len(parts) else None


@dataclass(frozen=True, slots=True)
class Layout:
    """`layout`: body of the shape tuple, then of the stride tuple, no inner tags. `():()` is `D9 01 00 00`."""

    tag: ClassVar[int] = 217
    shape: SymbolicTuple
    stride: SymbolicTuple

    def body(self, out: Sink) -> None:
        self.shape.body(out)
        self.stride.body(out)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        shape = SymbolicTuple.read(cursor)
        return cls(shape, SymbolicTuple.read(cursor))

    def text(self) -> str:
        shape, stride = self.shape.short(), self.stride.short()
        if shape is None or stride is None:
            return f"#cuda_tile.preview$layout<shapes = {self.shape.text()}, strides = {self.stride.text()}>"
        return f"#cuda_tile.preview$layout<{shape}:{stride}>"


@dataclass(frozen=True, slots=True)
class CeilDiv(Binary):
    """`expr_ceil_div`: rounds towards infinity."""

    tag: ClassVar[int] = 218
    label: ClassVar[str] = "ceil_div"
    sign: ClassVar[str] = "/+"
    rank: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Neg:
    """`expr_neg`."""

    tag: ClassVar[int] = 220
    operand: Expression

    def body(self, out: Sink) -> None:
        tagged(out, self.operand)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(read_expression(cursor, "an operand"))

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_neg<{self.operand.text()}>"

    def short(self) -> str | None:
        operand = self.operand.short()
        if operand is None or isinstance(self.operand, Int):
            return None
        return f"-({operand})" if isinstance(self.operand, Binary | Neg) else f"-{operand}"


@dataclass(frozen=True, slots=True)
class Builtin:
    """`expr_builtin`: a number of the surrounding kernel such as `context.num_threads`; its type is `index`."""

    tag: ClassVar[int] = 227
    name: str

    def body(self, out: Sink) -> None:
        out.string(self.name)
        out.type(PlainType.INDEX)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        start = cursor.position
        name = cursor.string("the name of a builtin")
        if not name.startswith("context."):
            raise cursor.fault(f"the builtin `{name}` does not start with `context.`", start)
        start = cursor.position
        if cursor.type("the type of a builtin") is not PlainType.INDEX:
            raise cursor.fault(f"the builtin `{name}` is not of type `index`", start)
        return cls(name)

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_builtin<{quoted(self.name)}, index>"

    def short(self) -> str | None:
        return self.name if is_bare(self.name) else None


@dataclass(frozen=True, slots=True)
class ConstStr:
    """`expr_const_str`: a string."""

    tag: ClassVar[int] = 228
    value: str

    def body(self, out: Sink) -> None:
        out.string(self.value)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(cursor.string("a string expression"))

    def text(self) -> str:
        return f"#cuda_tile.preview$expr_const_str<{quoted(self.value)}>"

    def short(self) -> str | None:
        return None


Expression: TypeAlias = Int | Var | Binary | SymbolicTuple | Neg | Builtin | ConstStr

EXPRESSIONS = {
    kind.tag: kind for kind in (Int, Var, Mul, Div, Add, Sub, FloorDiv, SymbolicTuple, CeilDiv, Neg, Builtin, ConstStr)
}
