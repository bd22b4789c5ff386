"""The element types of a tile export and what each is called elsewhere. Spec: Parameters and the ABI."""

from __future__ import annotations

from enum import Enum


class ElementType(Enum):
    """One row an element type: description name, Tile IR name, NVVM IR name, size in bytes.

    Tile IR has no unsigned integers: `U32.tile` is `i32`, same bits.
    """

    F16 = ("f16", "f16", "half", 2)
    F32 = ("f32", "f32", "float", 4)
    F64 = ("f64", "f64", "double", 8)
    I8 = ("i8", "i8", "i8", 1)
    I16 = ("i16", "i16", "i16", 2)
    I32 = ("i32", "i32", "i32", 4)
    I64 = ("i64", "i64", "i64", 8)
    U8 = ("u8", "i8", "i8", 1)
    U16 = ("u16", "i16", "i16", 2)
    U32 = ("u32", "i32", "i32", 4)
    U64 = ("u64", "i64", "i64", 8)

    def __init__(self, label: str, tile: str, llvm: str, size: int) -> None:
        self.label = label
        self.tile = tile
        self.llvm = llvm
        self.size = size

    @property
    def is_float(self) -> bool:
        return self.label.startswith("f")

    @property
    def is_unsigned(self) -> bool:
        return self.label.startswith("u")

    @classmethod
    def named(cls, label: str) -> ElementType | None:
        """The element type with that description name, or None."""
        return _BY_LABEL.get(label)


_BY_LABEL = {element.label: element for element in ElementType}
