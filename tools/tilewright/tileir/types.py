"""Element types and the types of TileIR values. Frozen values, compared by content; dims in them by identity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from tilewright.tileir.dims import IndexSpace


class Element(Enum):
    """One row an element type: text name, size in bytes, family (`bool`, `signed`, `unsigned`, `float`)."""

    BOOL = ("bool", 1, "bool")
    I8 = ("i8", 1, "signed")
    U8 = ("u8", 1, "unsigned")
    I16 = ("i16", 2, "signed")
    U16 = ("u16", 2, "unsigned")
    I32 = ("i32", 4, "signed")
    U32 = ("u32", 4, "unsigned")
    I64 = ("i64", 8, "signed")
    U64 = ("u64", 8, "unsigned")
    F8E4M3 = ("f8e4m3", 1, "float")
    F8E5M2 = ("f8e5m2", 1, "float")
    BF16 = ("bf16", 2, "float")
    F16 = ("f16", 2, "float")
    F32 = ("f32", 4, "float")
    F64 = ("f64", 8, "float")

    def __init__(self, label: str, size: int, family: str) -> None:
        self.label = label
        self.size = size
        self.family = family

    @property
    def is_float(self) -> bool:
        return self.family == "float"

    @property
    def is_integer(self) -> bool:
        return self.family in ("signed", "unsigned")

    @property
    def is_bool(self) -> bool:
        return self.family == "bool"

    def integer_range(self) -> tuple[int, int]:
        """Smallest and largest value of an integer element: I8 gives (-128, 127)."""
        assert self.is_integer, self  # noqa: S101
        bits = 8 * self.size
        return (0, 2**bits - 1) if self.family == "unsigned" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    @classmethod
    def named(cls, label: str) -> Element | None:
        """The element with that text name, or None."""
        return _BY_LABEL.get(label)

    def __str__(self) -> str:
        return self.label


_BY_LABEL = {element.label: element for element in Element}


@dataclass(frozen=True, slots=True)
class IndexType:
    """A coordinate of a nest; behaves as an i64 scalar in arithmetic."""

    def __str__(self) -> str:
        return "index"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One element."""

    element: Element

    def __str__(self) -> str:
        return self.element.label


@dataclass(frozen=True, slots=True)
class TileType:
    """An immutable value over the elements of a space."""

    element: Element
    space: IndexSpace

    def __str__(self) -> str:
        return f"tile<{self.element}, {self.space}>"


@dataclass(frozen=True, slots=True)
class ViewType:
    """An external tensor, row-major compact, addressed by loads and stores."""

    element: Element
    space: IndexSpace

    def __str__(self) -> str:
        return f"view<{self.element}, {self.space}>"


@dataclass(frozen=True, slots=True)
class MemoryType:
    """A manually allocated object."""

    element: Element
    space: IndexSpace

    def __str__(self) -> str:
        return f"memory<{self.element}, {self.space}>"


@dataclass(frozen=True, slots=True)
class StateType:
    """The linear token that orders the accesses to one memory."""

    def __str__(self) -> str:
        return "state"


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type of an extension, known by name only."""

    name: str

    def __str__(self) -> str:
        return f'opaque<"{self.name}">'


Type: TypeAlias = IndexType | ScalarType | TileType | ViewType | MemoryType | StateType | OpaqueType

INDEX = IndexType()
STATE = StateType()
BOOL = ScalarType(Element.BOOL)
I64 = ScalarType(Element.I64)
F32 = ScalarType(Element.F32)


def space_of(type: Type) -> IndexSpace | None:
    """The index space of a tile, view or memory type, else None."""
    return type.space if isinstance(type, TileType | ViewType | MemoryType) else None


def element_of(type: Type) -> Element | None:
    """The element type of a type that has one; an index counts as i64."""
    if isinstance(type, IndexType):
        return Element.I64
    return None if isinstance(type, StateType | OpaqueType) else type.element


def is_scalar(type: Type) -> bool:
    """A scalar or an index."""
    return isinstance(type, ScalarType | IndexType)


def is_integer_scalar(type: Type) -> bool:
    """What an index or an origin may be: an index, or a scalar of an integer element."""
    element = element_of(type)
    return is_scalar(type) and element is not None and element.is_integer
