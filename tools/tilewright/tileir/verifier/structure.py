"""V1 to V6: names, ids, pointers, def-use, dominance, dims and attributes; the first stage of verification."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.problem import Problem
from tilewright.tileir.dims import MAX_EXTENT, Dim, IndexSpace
from tilewright.tileir.graph import Block, Function, Module, Operation, Region, Value
from tilewright.tileir.types import Type, space_of
from tilewright.tileir.verifier.faults import Problems, fault, listed


def function_repeated(module: Module) -> Problems:
    """V1: function ids and names are unique in the module."""
    names = [function.name for function in module.functions]
    ids = [function.id for function in module.functions]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"two functions are called `{name}`", hint="rename one of them")
    for id in sorted({id for id in ids if ids.count(id) > 1}):
        yield Problem(f"two functions have id {id}")


def function_unnamed(function: Function) -> Problems:
    """V1: a function has a name."""
    if not function.name:
        yield Problem(f"function {function.id} has an empty name")


def detached_function(function: Function) -> Problems:
    """V1: a function belongs to the module that lists it; verification needs the owning module."""
    if function.module is None or function not in function.module.functions:
        yield Problem(f"`{function.name}` has no owning module")


def several_blocks(function: Function) -> Problems:
    """A.1: the body of a function is one block."""
    if len(function.body.blocks) != 1:
        yield Problem(f"`{function.name}`: the body has {len(function.body.blocks)} blocks, not one")


def parent_broken(function: Function) -> Problems:
    """V1: parent pointers are consistent at every level."""
    for region, owner in regions(function):
        if region.owner is not owner or region.function is not function:
            yield Problem(f"`{function.name}`: a region does not point to {owner!r} that holds it")
        for block in region.blocks:
            if block.region is not region:
                yield Problem(f"`{function.name}`: a block does not point to the region that holds it")
            for operation in block.operations:
                if operation.parent is not block or operation.function is not function:
                    yield fault(operation, "does not point to the block that holds it")


def id_repeated(function: Function) -> Problems:
    """V2: ids of values and of operations are unique in the function."""
    value_ids = [value.id for value in values(function)]
    operation_ids = [operation.id for operation in function.walk()]
    for noun, ids in (("values", value_ids), ("operations", operation_ids)):
        repeated = sorted({id for id in ids if ids.count(id) > 1}) if len(set(ids)) != len(ids) else []
        if repeated:
            yield Problem(f"`{function.name}`: several {noun} have id {listed(repeated)}")


def definition_broken(function: Function) -> Problems:
    """V2: every result and argument points back to its operation or block and position."""
    for region, _ in regions(function):
        for block in region.blocks:
            for place, value in enumerate(block.arguments):
                if value.owner is not block or value.index != place:
                    yield Problem(f"`{function.name}`: argument {place} of a block does not point back to it")
    for operation in function.walk():
        for place, value in enumerate(operation.results):
            if value.owner is not operation or value.index != place:
                yield fault(operation, f"result {place} does not point back to it")


def foreign_dim(function: Function) -> Problems:
    """V3: every dim of a type, a domain or a layout belongs to this module."""
    known = set(function.module.dims) if function.module else set()
    for holder, space in spaces(function):
        for dim in dict.fromkeys(space.mentioned()):
            if dim not in known:
                yield _at(function, holder, f"dim `{dim.name}` in {space} belongs to another module")


def malformed_space(function: Function) -> Problems:
    """A.1: the dims of a space are distinct, its constant extents between 0 and 2**64-1."""
    for holder, space in spaces(function):
        if len(set(space.dims)) != space.rank:
            yield _at(function, holder, f"a dim stands twice in {space}")
        if any(not isinstance(extent, Dim) and not 0 <= extent <= MAX_EXTENT for extent in space.extents):
            yield _at(function, holder, f"an extent of {space} is not between 0 and 2**64-1")


def use_broken(function: Function) -> Problems:
    """V4: operand lists and use lists agree both ways."""
    for operation in function.walk():
        for place, use in enumerate(operation.uses):
            if use.user is not operation or use.index != place:
                yield fault(operation, f"operand {place} names another user or position")
            elif use not in use.value.uses:
                yield fault(operation, f"operand {place} is missing in the uses of its value")
    for value in values(function):
        for use in value.uses:
            listed_there = 0 <= use.index < len(use.user.uses) and use.user.uses[use.index] is use
            if use.value is not value or not listed_there:
                yield Problem(f"`{function.name}`: value {value.id} lists a use that is not an operand")


def foreign_operand(function: Function) -> Problems:
    """V4: no operand comes from another function."""
    own = set(values(function))
    for operation in function.walk():
        for place, value in enumerate(operation.operands):
            if value not in own:
                yield fault(operation, f"foreign operand: operand {place} is not defined in this function")


def not_dominated(function: Function) -> Problems:
    """V5: a definition stands earlier in the same block, or in an enclosing block before the operation around."""
    order = {
        operation: place
        for region, _ in regions(function)
        for block in region.blocks
        for place, operation in enumerate(block.operations)
    }
    for operation in function.walk():
        around = {each.parent: each for each in (operation, *operation.ancestors())}
        for place, value in enumerate(operation.operands):
            inside = around.get(value.block)
            definition = value.definition
            if inside is None or (definition is not None and order.get(definition, 0) >= order[inside]):
                yield fault(
                    operation,
                    f"operand {place} is not defined where it is used",
                    "carry it out of its nest, or define it before",
                )


def malformed_attribute(function: Function) -> Problems:
    """V6: attributes are named by identifiers and hold a bool, a 64-bit integer, a float or a string."""
    for operation in function.walk():
        for name, value in operation.attributes.items():
            if not name.isidentifier() or not name.isascii():
                yield fault(operation, f"an attribute is called {name!r}; names are identifiers")
            if not isinstance(value, bool | int | float | str):
                yield fault(operation, f"attribute `{name}` holds {value!r}, not a bool, integer, float or string")
            elif isinstance(value, int) and not -(2**63) <= value < 2**64:
                yield fault(operation, f"attribute `{name}` = {value} does not fit 64 bits")


def regions(function: Function) -> Iterator[tuple[Region, Function | Operation]]:
    """Every region with what holds it."""
    yield function.body, function
    for operation in function.walk():
        for region in operation.regions:
            yield region, operation


def values(function: Function) -> Iterator[Value]:
    """Every block argument and result."""
    for region, _ in regions(function):
        for block in region.blocks:
            yield from block.arguments
            for operation in block.operations:
                yield from operation.results


def spaces(function: Function) -> Iterator[tuple[Operation | None, IndexSpace]]:
    """Every index space the function mentions, with the operation it is part of."""
    for value in values(function):
        space = space_of(value.type)
        if space is not None:
            yield value.definition, space
    for operation in function.walk():
        if operation.domain is not None:
            yield operation, operation.domain
        if operation.layout is not None:
            yield operation, operation.layout.domain
            yield operation, operation.layout.codomain


def block_types(block: Block) -> list[Type]:
    return [argument.type for argument in block.arguments]


def _at(function: Function, holder: Operation | None, what: str) -> Problem:
    return fault(holder, what) if holder else Problem(f"`{function.name}`: {what}")
