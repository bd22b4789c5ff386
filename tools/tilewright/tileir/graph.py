"""Modules, functions, regions, blocks, operations, values and their uses: the mutable graph every pass walks.

Readers go through `function.body.block.operations`, `operation.regions` and `walk`; only the builder and the capture
change anything. Def-use is kept both ways: `operation.uses[i].value` and `value.uses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from tilewright.problem import Place
from tilewright.tileir.dims import Dim, IndexSpace
from tilewright.tileir.index_map import IndexMap
from tilewright.tileir.types import Type
from tilewright.tileir.vocabulary import Bounds, Form, Kind, Opcode, Resource, Scope

Attribute: TypeAlias = bool | int | float | str
"""The payload of an attribute; an int has to fit i64 or u64."""


class Value:
    """What an operation gives or a block receives: id (unique in its function), type, display name, origin, uses."""

    __slots__ = ("id", "index", "name", "owner", "type", "uses")

    def __init__(self, id: int, type: Type, owner: Operation | Block, index: int, name: str = "") -> None:
        self.id = id
        self.type = type
        self.owner = owner
        self.index = index
        self.name = name
        self.uses: list[Use] = []

    def __repr__(self) -> str:
        return f"<%{self.id}: {self.type}>"

    @property
    def definition(self) -> Operation | None:
        """The operation this is a result of; None for a block argument."""
        return self.owner if isinstance(self.owner, Operation) else None

    @property
    def block(self) -> Block | None:
        """The block in which the value is defined."""
        return self.owner.parent if isinstance(self.owner, Operation) else self.owner

    @property
    def users(self) -> list[Operation]:
        return [use.user for use in self.uses]

    def replace_all_uses_with(self, other: Value) -> None:
        """Every operand that was this value becomes `other`."""
        for use in list(self.uses):
            use.set(other)


class Use:
    """Operand `index` of `user` is `value`."""

    __slots__ = ("index", "user", "value")

    def __init__(self, value: Value, user: Operation, index: int) -> None:
        self.value = value
        self.user = user
        self.index = index
        value.uses.append(self)

    def set(self, value: Value) -> None:
        """Points the operand at another value, both directions."""
        self.value.uses.remove(self)
        self.value = value
        value.uses.append(self)


class Operation:
    """One operation. Subclasses in `ops/` give each operand its name; `kind` is what to dispatch on.

    `domain`, `scope`, `resource`, `layout`, `bounds` and `opcode` are None where the kind has none; `place` is where
    the user wrote it.
    """

    kind: ClassVar[Kind]

    def __init__(
        self,
        function: Function,
        operands: Iterable[Value] = (),
        result_types: Iterable[Type] = (),
        *,
        attributes: Mapping[str, Attribute] | None = None,
        domain: IndexSpace | None = None,
        scope: Scope | None = None,
        resource: Resource | None = None,
        layout: IndexMap | None = None,
        bounds: Bounds | None = None,
        opcode: Opcode | None = None,
        regions: int = 0,
        place: Place | None = None,
    ) -> None:
        self.function = function
        self.id = function.new_operation_id()
        self.parent: Block | None = None
        self.uses: list[Use] = []
        self.results: list[Value] = []
        self.attributes: dict[str, Attribute] = dict(attributes or {})
        self.domain = domain
        self.scope = scope
        self.resource = resource
        self.layout = layout
        self.bounds = bounds
        self.opcode = opcode
        self.place = place
        for value in operands:
            self.add_operand(value)
        for type in result_types:
            self.add_result(type)
        self.regions: list[Region] = [Region(function, self) for _ in range(regions)]

    def __repr__(self) -> str:
        return f"<{self.kind.value} #{self.id}>"

    @property
    def operands(self) -> tuple[Value, ...]:
        return tuple(use.value for use in self.uses)

    @property
    def result(self) -> Value:
        """The only result."""
        assert len(self.results) == 1, self  # noqa: S101
        return self.results[0]

    @property
    def body(self) -> Block:
        """The only block of the only region."""
        assert len(self.regions) == 1, self  # noqa: S101
        return self.regions[0].block

    @property
    def parent_operation(self) -> Operation | None:
        """The operation whose region holds this one; None at the root of the function."""
        owner = self.parent.region.owner if self.parent else None
        return owner if isinstance(owner, Operation) else None

    def ancestors(self) -> Iterator[Operation]:
        """The enclosing operations, innermost first."""
        operation = self.parent_operation
        while operation is not None:
            yield operation
            operation = operation.parent_operation

    def add_operand(self, value: Value) -> None:
        self.uses.append(Use(value, self, len(self.uses)))

    def add_result(self, type: Type, name: str = "") -> Value:
        value = Value(self.function.new_value_id(), type, self, len(self.results), name)
        self.results.append(value)
        return value


class Block:
    """Typed arguments and ordered operations."""

    __slots__ = ("arguments", "operations", "region")

    def __init__(self, region: Region) -> None:
        self.region = region
        self.arguments: list[Value] = []
        self.operations: list[Operation] = []

    def add_argument(self, type: Type, name: str = "") -> Value:
        value = Value(self.region.function.new_value_id(), type, self, len(self.arguments), name)
        self.arguments.append(value)
        return value

    def append(self, operation: Operation) -> None:
        operation.parent = self
        self.operations.append(operation)


class Region:
    """A list of blocks, owned by an operation or by the function; every lowering needs exactly one block."""

    __slots__ = ("blocks", "function", "owner")

    def __init__(self, function: Function, owner: Operation | Function) -> None:
        self.function = function
        self.owner = owner
        self.blocks = [Block(self)]

    @property
    def block(self) -> Block:
        assert len(self.blocks) == 1, self.owner  # noqa: S101
        return self.blocks[0]


class Function:
    """One kernel: the arguments of the body's block are its parameters, in signature order.

    Made by `Module.function`.
    """

    def __init__(self, module: Module | None, id: int, name: str, form: Form = Form.CANDIDATE) -> None:
        self.module = module
        self.id = id
        self.name = name
        self.form = form
        self._next_value = 0
        self._next_operation = 0
        self.body = Region(self, self)

    def __repr__(self) -> str:
        return f"<function {self.name}>"

    @property
    def parameters(self) -> list[Value]:
        return self.body.block.arguments

    def new_value_id(self) -> int:
        self._next_value += 1
        return self._next_value - 1

    def new_operation_id(self) -> int:
        self._next_operation += 1
        return self._next_operation - 1

    def walk(self) -> Iterator[Operation]:
        """Every operation, each before those in its regions."""
        yield from walk(self.body)


class Module:
    """Functions and the dims they may mention."""

    def __init__(self) -> None:
        self.dims: list[Dim] = []
        self.functions: list[Function] = []

    def dim(self, name: str) -> Dim:
        """A new dimension of this module; the name is for display only."""
        dim = Dim(name)
        self.dims.append(dim)
        return dim

    def function(self, name: str, form: Form = Form.CANDIDATE) -> Function:
        """A new, empty function of this module."""
        function = Function(self, len(self.functions), name, form)
        self.functions.append(function)
        return function


def walk(region: Region) -> Iterator[Operation]:
    """Every operation below the region, each before those in its regions."""
    for block in region.blocks:
        for operation in list(block.operations):
            yield operation
            for inner in operation.regions:
                yield from walk(inner)
