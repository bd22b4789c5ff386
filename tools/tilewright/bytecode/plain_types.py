"""The types without parameters: one row a type, tag and text."""

from __future__ import annotations

from enum import Enum

from tilewright.bytecode.sink import Sink


class PlainType(Enum):
    """A type whose body is empty. The signless integers also stand for the unsigned ones."""

    I1 = (0, "i1")
    I8 = (1, "i8")
    I16 = (2, "i16")
    I32 = (3, "i32")
    I64 = (4, "i64")
    F16 = (5, "f16")
    BF16 = (6, "bf16")
    F32 = (7, "f32")
    TF32 = (8, "tf32")
    F64 = (9, "f64")
    F8E4M3FN = (10, "f8E4M3FN")
    F8E5M2 = (11, "f8E5M2")
    TOKEN = (17, "!cuda_tile.token")
    F8E8M0FNU = (18, "f8E8M0FNU")
    F4E2M1FN = (19, "f4E2M1FN")
    I4 = (22, "i4")
    FNV8E5M3FNU = (130, "fnv8E5M3FNU")
    DATATYPE = (211, "!cuda_tile.preview$Datatype")
    SHAPE = (212, "!cuda_tile.preview$shape")
    STRING = (213, "!cuda_tile.preview$string")
    INDEX = (214, "index")
    NONE = (215, "none")

    def __init__(self, tag: int, spelling: str) -> None:
        self.tag = tag
        self.spelling = spelling

    def body(self, out: Sink) -> None:
        """Nothing: the tag says it all."""

    def text(self) -> str:
        return self.spelling

    @property
    def is_element(self) -> bool:
        """Whether a tile can be made of it."""
        return self not in _NOT_ELEMENTS


CONST_PARAM_TYPES = (PlainType.INDEX, PlainType.SHAPE, PlainType.DATATYPE, PlainType.STRING)
_NOT_ELEMENTS = frozenset((*CONST_PARAM_TYPES, PlainType.NONE, PlainType.TOKEN))

PLAIN_TYPES = {row.tag: row for row in PlainType}
