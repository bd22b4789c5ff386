"""The two kinds of entry in a library module's function section: declaration and implementation.

An entry starts with name, signature, one byte of flags and a debug location; the flags tell which record follows.
Parameter names are not part of the encoding: they are kept beside an argument for the readable text only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Self, cast

from tilewright.bytecode.attributes import (
    Access,
    Array,
    Attribute,
    ConstParam,
    Dictionary,
    ScratchRequest,
    String,
    Synchronization,
)
from tilewright.bytecode.cursor import Cursor, read_tagged
from tilewright.bytecode.expressions import Expression, read_expression
from tilewright.bytecode.sink import U64_MAX, Sink, tagged
from tilewright.bytecode.types import Function, Value

ACCESS_KEY = "cuda_tile.preview$access"

_ARGUMENT_ATTRIBUTES = {access: Dictionary(((ACCESS_KEY, access),)) for access in Access}
_ARGUMENT_ACCESS = {attributes: access for access, attributes in _ARGUMENT_ATTRIBUTES.items()}


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: a tile in a declaration, a fragment in an implementation, with its access."""

    type: Value
    access: Access
    name: str = field(default="", compare=False)

    @property
    def attributes(self) -> Dictionary:
        """What the encoding stores beside the type."""
        return _ARGUMENT_ATTRIBUTES[self.access]


def arguments_of(cursor: Cursor, at: int, signature: Function, attributes: Iterable[Attribute]) -> tuple[Argument, ...]:
    """Types of a signature joined with the argument dictionaries that start at byte `at`."""
    dictionaries = tuple(attributes)
    if len(dictionaries) != len(signature.arguments):
        raise cursor.fault(f"{len(dictionaries)} argument dictionaries for {len(signature.arguments)} arguments", at)
    arguments = []
    for number, (kind, dictionary) in enumerate(zip(signature.arguments, dictionaries, strict=True)):
        access = _ARGUMENT_ACCESS.get(dictionary) if isinstance(dictionary, Dictionary) else None
        if access is None:
            raise cursor.fault(f"argument {number} has other attributes than {ACCESS_KEY}", at)
        arguments.append(Argument(kind, access))
    return tuple(arguments)


def read_signature(cursor: Cursor) -> Function:
    """The index of a function type."""
    start = cursor.position
    signature = cursor.type("a signature")
    if not isinstance(signature, Function):
        raise cursor.fault(f"the signature `{signature.text()}` is not a function type", start)
    return signature


def read_array(cursor: Cursor, name: str) -> tuple[Attribute, ...]:
    """The items of a self-contained array."""
    return cast(Array, read_tagged(cursor, {Array.tag: Array}, name)).items


def read_const_param(cursor: Cursor) -> ConstParam:
    """A self-contained constant parameter."""
    return cast(ConstParam, read_tagged(cursor, {ConstParam.tag: ConstParam}, "a constant parameter"))


@dataclass(frozen=True, slots=True)
class Declaration:
    """`preview$func extern`: what a tile kernel calls. Plain form with an empty body; there is no opcode."""

    tag: ClassVar[int] = 0x01
    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Value, ...]
    const_params: tuple[ConstParam, ...] = ()

    @property
    def signature(self) -> Function:
        """Arguments to results."""
        return Function(tuple(argument.type for argument in self.arguments), self.results)

    def body(self, out: Sink) -> None:
        tagged(out, Array(tuple(argument.attributes for argument in self.arguments)))
        out.uvar(0)
        tagged(out, Array(self.const_params))

    @classmethod
    def read(cls, cursor: Cursor, name: str, signature: Function) -> Self:
        start = cursor.position
        attributes = read_array(cursor, "the argument attributes")
        arguments = arguments_of(cursor, start, signature, attributes)
        start = cursor.position
        if cursor.uvar("the length of a function body"):
            raise cursor.fault(f"the function `{name}` has a body, a library module has only declarations", start)
        start = cursor.position
        const_params = read_array(cursor, "the constant parameters")
        if not all(isinstance(param, ConstParam) for param in const_params):
            raise cursor.fault("the constant parameters hold another attribute", start)
        return cls(name, arguments, signature.results, cast(tuple[ConstParam, ...], const_params))


@dataclass(frozen=True, slots=True)
class Implementation:
    """`preview$extern_impl`: an implementation in the device code; `implements` names its declaration.

    The optional fields follow the bits of `op_flags` in order.  `synchronization` None and `NONE` are two encodings
    of the same meaning.  `provider_score` is a signed 64-bit number.
    """

    tag: ClassVar[int] = 0x05
    name: str
    implements: str
    arguments: tuple[Argument, ...]
    const_params: tuple[ConstParam, ...] = ()
    const_args: tuple[Expression, ...] = ()
    scratch_smem: ScratchRequest | None = None
    arch: tuple[str, ...] = ()
    frontend_abi: Dictionary | None = None
    synchronization: Synchronization | None = None
    provider_score: int | None = None

    @property
    def signature(self) -> Function:
        """Fragments to nothing."""
        return Function(tuple(argument.type for argument in self.arguments), ())

    def body(self, out: Sink) -> None:
        present = (
            self.const_params,
            self.const_args,
            self.arguments,
            False,
            self.scratch_smem is not None,
            False,
            self.arch,
            self.frontend_abi is not None,
            self.synchronization is not None,
            self.provider_score is not None,
        )
        out.uvar(sum(1 << bit for bit, value in enumerate(present) if value))
        out.string(self.name)
        out.string(self.implements)
        for values in (self.const_params, self.const_args):
            if values:
                Array(values).body(out)
        out.type(self.signature)
        if self.arguments:
            Array(tuple(argument.attributes for argument in self.arguments)).body(out)
        if self.scratch_smem is not None:
            self.scratch_smem.body(out)
        if self.arch:
            Array(tuple(map(String, self.arch))).body(out)
        if self.frontend_abi is not None:
            self.frontend_abi.body(out)
        if self.synchronization is not None:
            self.synchronization.body(out)
        if self.provider_score is not None:
            out.uvar(self.provider_score & U64_MAX)
        for count in (1, 0, 0):
            out.uvar(count)

    @classmethod
    def read(cls, cursor: Cursor, name: str, signature: Function) -> Self:
        """The record names its symbol and type again, and those count; `name` and `signature` are the entry's."""
        start = cursor.position
        flags = cursor.uvar("the flags of an implementation")
        if flags >> len(_OPTIONAL_FIELDS):
            raise cursor.fault(f"the implementation flags {flags:#x} have unknown bits", start)
        present = {label for bit, label in enumerate(_OPTIONAL_FIELDS) if flags >> bit & 1}
        if "config" in present:
            raise cursor.fault("an implementation cannot carry `config`", start)
        name = cursor.string("the symbol of an implementation")
        implements = cursor.string("the name of the implemented declaration")
        const_params: tuple[ConstParam, ...] = ()
        if "const_params" in present:
            const_params = tuple(read_const_param(cursor) for _ in range(cursor.count("constant parameters")))
        const_args: tuple[Expression, ...] = ()
        if "const_args" in present:
            count = cursor.count("constant arguments")
            const_args = tuple(read_expression(cursor, "a constant argument") for _ in range(count))
        start = cursor.position
        signature = read_signature(cursor)
        if signature.results:
            raise cursor.fault(f"the implementation `{name}` has results", start)
        start = cursor.position
        attributes = Array.read(cursor).items if "arg_attrs" in present else ()
        arguments = arguments_of(cursor, start, signature, attributes)
        start = cursor.position
        if "res_attrs" in present and cursor.count("result attributes"):
            raise cursor.fault(f"the implementation `{name}` has result attributes", start)
        scratch = ScratchRequest.read(cursor) if "scratch_smem" in present else None
        arch: tuple[str, ...] = ()
        if "arch" in present:
            start = cursor.position
            items = Array.read(cursor).items
            arch = tuple(item.value for item in items if isinstance(item, String))
            if len(arch) < len(items):
                raise cursor.fault("the arch list holds something that is not a string", start)
        frontend_abi = Dictionary.read(cursor) if "frontendABI" in present else None
        synchronization = Synchronization.read(cursor) if "synchronization" in present else None
        score = cursor.signed_uvar("provider_score") if "provider_score" in present else None
        for expected, field_name in ((1, "regions"), (0, "blocks"), (0, "body bytes")):
            start = cursor.position
            if (number := cursor.uvar(f"the number of {field_name}")) != expected:
                raise cursor.fault(f"the implementation `{name}` has {number} {field_name}, expected {expected}", start)
        return cls(
            name, implements, arguments, const_params, const_args, scratch, arch, frontend_abi, synchronization, score
        )


_OPTIONAL_FIELDS = (
    "const_params",
    "const_args",
    "arg_attrs",
    "res_attrs",
    "scratch_smem",
    "config",
    "arch",
    "frontendABI",
    "synchronization",
    "provider_score",
)

RECORDS = {kind.tag: kind for kind in (Declaration, Implementation)}
