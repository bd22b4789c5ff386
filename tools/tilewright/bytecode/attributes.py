"""The attributes of declarations and implementations.

One class an attribute, fields in the order of the encoding; `ATTRIBUTES` is the tag table and includes the
expressions, which are attributes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Self, TypeAlias, cast

from tilewright.bytecode.cursor import Cursor, Readable, read_tagged
from tilewright.bytecode.expressions import EXPRESSIONS, WILDCARD, Expression, Layout, read_expression
from tilewright.bytecode.plain_types import CONST_PARAM_TYPES, PlainType
from tilewright.bytecode.sink import Encodable, Sink, tagged
from tilewright.bytecode.spelling import bare_or_quoted, quoted


class Choice(Enum):
    """An attribute whose body is one number out of a short list: the base of the three below."""

    tag: ClassVar[int]
    label: ClassVar[str]

    def __init_subclass__(cls, *, tag: int, label: str) -> None:
        cls.tag = tag
        cls.label = label

    def body(self, out: Sink) -> None:
        out.uvar(self.value[0])

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        start = cursor.position
        number = cursor.uvar(f"the number of the {cls.label}")
        for choice in cls:
            if choice.value[0] == number:
                return choice
        raise cursor.fault(f"{number} is no {cls.label}", start)

    @property
    def keyword(self) -> str:
        return cast(str, self.value[1])

    def text(self) -> str:
        return f"#cuda_tile.preview${self.label}<{self.keyword}>"


class MemorySpace(Choice, tag=221, label="memory_space"):
    """`memory_space`: where a fragment lies."""

    LOCAL = (0, "local")
    SMEM = (1, "smem")


class Synchronization(Choice, tag=222, label="synchronization"):
    """`synchronization`: the threads that call an implementation together."""

    NONE = (0, "none")
    WARP = (1, "warp")
    WARPGROUP = (2, "warpgroup")
    CTA = (3, "cta")


class Access(Choice, tag=223, label="access"):
    """`access`: what is done with an argument."""

    IN = (0, "in")
    OUT = (1, "out")
    INOUT = (2, "inout")


@dataclass(frozen=True, slots=True)
class String:
    """A string."""

    tag: ClassVar[int] = 5
    value: str

    def body(self, out: Sink) -> None:
        out.string(self.value)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(cursor.string("a string"))

    def text(self) -> str:
        return quoted(self.value)


@dataclass(frozen=True, slots=True)
class Array:
    """Attributes in order."""

    tag: ClassVar[int] = 6
    items: tuple[Attribute, ...]

    def body(self, out: Sink) -> None:
        out.uvar(len(self.items))
        for item in self.items:
            tagged(out, item)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(tuple(read_attribute(cursor, "an array item") for _ in range(cursor.count("array items"))))

    def text(self) -> str:
        return f"[{', '.join(item.text() for item in self.items)}]"


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Attributes by name, in the order of the file; the text is sorted."""

    tag: ClassVar[int] = 10
    entries: tuple[tuple[str, Attribute], ...]

    def body(self, out: Sink) -> None:
        out.uvar(len(self.entries))
        for key, value in self.entries:
            out.string(key)
            tagged(out, value)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        entries: dict[str, Attribute] = {}
        for _ in range(cursor.count("dictionary entries", 2)):
            start = cursor.position
            key = cursor.string("a dictionary key")
            if key in entries:
                raise cursor.fault(f"the dictionary key `{key}` occurs twice", start)
            entries[key] = read_attribute(cursor, f"the value of `{key}`")
        return cls(tuple(entries.items()))

    def text(self) -> str:
        entries = sorted(self.entries, key=lambda entry: entry[0])
        return f"{{{', '.join(f'{bare_or_quoted(key)} = {value.text()}' for key, value in entries)}}}"


@dataclass(frozen=True, slots=True)
class ConcreteType:
    """`concrete_type`: a type as the value of a constant parameter."""

    tag: ClassVar[int] = 219
    type: Encodable

    def body(self, out: Sink) -> None:
        out.type(self.type)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        return cls(cursor.type("a concrete type"))

    def text(self) -> str:
        return f"#cuda_tile.preview$concrete_type<{self.type.text()}>"


@dataclass(frozen=True, slots=True)
class ScratchRequest:
    """`scratch_request`: shared memory an implementation asks for, size and alignment in bytes."""

    tag: ClassVar[int] = 224
    size: Expression
    alignment: Expression

    def body(self, out: Sink) -> None:
        tagged(out, self.size)
        tagged(out, self.alignment)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        size = read_expression(cursor, "the size of a scratch request")
        return cls(size, read_expression(cursor, "the alignment of a scratch request"))

    def text(self) -> str:
        return f"#cuda_tile.preview$scratch_request<{self.fields}>"

    @property
    def fields(self) -> str:
        """The text without its frame, as an implementation shows it."""
        return f"smem.size = {self.size.text()}, smem.alignment = {self.alignment.text()}"


@dataclass(frozen=True, slots=True)
class ConstParam:
    """`const_param`: a constant parameter, name and type. Prints as `N: index` in front of an argument list."""

    tag: ClassVar[int] = 226
    name: str
    type: PlainType

    def body(self, out: Sink) -> None:
        out.string(self.name)
        out.type(self.type)

    @classmethod
    def read(cls, cursor: Cursor) -> Self:
        name = cursor.string("the name of a constant parameter")
        start = cursor.position
        kind = cursor.type("the type of a constant parameter")
        if kind not in CONST_PARAM_TYPES:
            raise cursor.fault(f"the constant parameter `{name}` cannot be of type `{kind.text()}`", start)
        return cls(name, kind)

    def text(self) -> str:
        return f"#cuda_tile.preview$const_param<name = {quoted(self.name)}, type = {self.type.text()}>"

    def short(self) -> str:
        """`N: index`; the wildcard stands alone."""
        return self.name if self.name == WILDCARD else f"{bare_or_quoted(self.name)}: {self.type.text()}"


Attribute: TypeAlias = (
    Expression | Layout | Choice | String | Array | Dictionary | ConcreteType | ScratchRequest | ConstParam
)

ATTRIBUTES: dict[int, type[Readable]] = {
    **EXPRESSIONS,
    **{
        kind.tag: kind
        for kind in (
            String,
            Array,
            Dictionary,
            Layout,
            ConcreteType,
            MemorySpace,
            Synchronization,
            Access,
            ScratchRequest,
            ConstParam,
        )
    },
}


def read_attribute(cursor: Cursor, field: str) -> Attribute:
    """A self-contained attribute."""
    return cast(Attribute, read_tagged(cursor, ATTRIBUTES, field))
