"""The closed vocabularies of TileIR: kinds of operation, element-wise opcodes, scopes, resources, bounds, forms.

Everything dispatches on these members, never on a name. Member values are the spellings of the text form.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """What an operation is."""

    CONSTANT = "constant"
    ELEMENTWISE = "elementwise"
    TILE_MAP = "tile.map"
    EXTRACT = "tile.extract"
    MMA = "mma"
    LOAD_ELEMENT = "view.load_element"
    STORE_ELEMENT = "view.store_element"
    LOAD_TILE = "view.load"
    STORE_TILE = "view.store"
    ALLOC = "memory.alloc"
    MEMORY_LOAD = "memory.load"
    MEMORY_STORE = "memory.store"
    PARALLEL = "parallel"
    SERIAL = "serial"
    PIPELINE = "pipeline"
    REDUCE = "reduce"
    STAGE = "stage"
    YIELD = "yield"
    CUSTOM = "custom"


ORDERED_NESTS = frozenset({Kind.SERIAL, Kind.PIPELINE, Kind.REDUCE})
"""Nests that run their flattened domain in order and may carry values."""
NESTS = ORDERED_NESTS | {Kind.PARALLEL}
MEMORY_EFFECTS = frozenset(
    {
        Kind.LOAD_ELEMENT,
        Kind.STORE_ELEMENT,
        Kind.LOAD_TILE,
        Kind.STORE_TILE,
        Kind.ALLOC,
        Kind.MEMORY_LOAD,
        Kind.MEMORY_STORE,
        Kind.CUSTOM,
    }
)
"""Operations that read, write or allocate, or whose effect is not known."""


class Opcode(Enum):
    """An element-wise operation: text name, number of operands, family of the type rule (V12)."""

    ADD = ("add", 2, "arithmetic")
    SUB = ("sub", 2, "arithmetic")
    MUL = ("mul", 2, "arithmetic")
    DIV = ("div", 2, "arithmetic")
    MOD = ("mod", 2, "integer")
    NEG = ("neg", 1, "arithmetic")
    MIN = ("min", 2, "arithmetic")
    MAX = ("max", 2, "arithmetic")
    CAST = ("cast", 1, "cast")
    SELECT = ("select", 3, "select")
    EQ = ("eq", 2, "comparison")
    NE = ("ne", 2, "comparison")
    LT = ("lt", 2, "comparison")
    LE = ("le", 2, "comparison")
    GT = ("gt", 2, "comparison")
    GE = ("ge", 2, "comparison")
    AND = ("and", 2, "logical")
    OR = ("or", 2, "logical")
    NOT = ("not", 1, "logical")
    EXP = ("exp", 1, "float")
    LOG = ("log", 1, "float")
    SQRT = ("sqrt", 1, "float")
    TANH = ("tanh", 1, "float")
    ABS = ("abs", 1, "arithmetic")

    def __init__(self, label: str, arity: int, family: str) -> None:
        self.label = label
        self.arity = arity
        self.family = family


class Scope(Enum):
    """Where the instances of a `parallel` run; from wide to narrow. No scope (None) is automatic."""

    DEVICE = "device"
    GROUP = "group"
    SUBGROUP = "subgroup"
    WORKER = "worker"
    VECTOR = "vector"

    @property
    def depth(self) -> int:
        """0 for device to 4 for vector; a nested concrete scope has to be deeper."""
        return list(Scope).index(self)


class Resource(Enum):
    """Class of a manual memory; independent classes, not a ladder. No class (None) is automatic."""

    PRIVATE = "private"
    SHARED = "shared"
    CLUSTER = "cluster"
    GLOBAL = "global"
    TENSOR = "tensor"


class Bounds(Enum):
    """What a sub-tile access does outside the view: `assume` = the caller promises, `zero` = fill and clip."""

    ASSUME = "assume"
    ZERO = "zero"


class Form(Enum):
    """Form of a function; only candidates are produced and consumed so far."""

    CANDIDATE = "candidate"
    SCHEDULED = "scheduled"
    MACHINE = "machine"
