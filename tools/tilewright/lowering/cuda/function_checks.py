"""Refusal of functions that this backend has no form of. Each check names its number in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from tilewright.lowering.cuda.scalars import C_TYPES
from tilewright.lowering.cuda.table import REJECTIONS
from tilewright.problem import Problem
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.types import Element, TileType, ViewType, element_of, space_of
from tilewright.tileir.vocabulary import MEMORY_EFFECTS, NESTS, Kind, Scope

Check = Callable[[Function], Iterator[Problem]]

MAX_BUFFERS = 31
MAX_ELEMENTS = 2**31 - 1
MAX_PRIVATE_ELEMENTS = 2**16
"""Largest tile of one thread: 256 KiB of f32, half of what a thread can address as its own."""
MAX_DOMAIN = 2**32 - 1


def fault(function: Function, what: str, rule: str, hint: str = "", operation: Operation | None = None) -> Problem:
    return Problem(f"`{function.name}`: {what}", operation.place if operation else None, hint, rule)


def argument_abi(function: Function) -> Iterator[Problem]:
    """B138, B49, B50, B54."""
    for parameter in function.parameters:
        type = parameter.type
        if not isinstance(type, ViewType):
            yield fault(
                function, f"`{parameter.name}` is of type {type}; arguments are buffer View arguments", "argument-abi"
            )
            continue
        legal = type.element is Element.F32 and type.space.is_static and 0 < prod(type.space.shape) <= MAX_ELEMENTS
        if not legal:
            yield fault(
                function,
                f"`{parameter.name}` is of type {type}; arguments are nonempty static int32-addressable FP32 buffers",
                "argument-abi",
                "capture it as f32 with extents of 1 or more",
            )


def buffer_count(function: Function) -> Iterator[Problem]:
    """B141."""
    used = sum(1 for parameter in function.parameters if parameter.uses)
    if used > MAX_BUFFERS:
        yield fault(function, f"{used} buffers exceed the binding capacity of {MAX_BUFFERS}", "buffer-count")


def root_parallel(function: Function) -> Iterator[Problem]:
    """B40 to B44, B70, B73: one parallel, and nothing beside it that has an effect."""
    operations = function.body.block.operations
    roots = [each for each in operations if each.kind is Kind.PARALLEL]
    if not roots:
        yield fault(function, "a kernel requires a root parallel", "no-root-parallel", "for p in tile.parallel(n): ...")
    for extra in roots[1:]:
        yield fault(
            function,
            "exactly one independent root parallel can be launched; this is a multi-launch program",
            "multi-launch",
            "make it two kernels",
            extra,
        )
    for operation in operations:
        if operation.kind in MEMORY_EFFECTS or operation.kind in NESTS - {Kind.PARALLEL}:
            yield fault(
                function,
                f"`{operation.kind.value}` stands outside the root parallel: root effects are host work",
                "root-effects",
                "move it into the parallel nest",
                operation,
            )


def root_domain(function: Function) -> Iterator[Problem]:
    """B43, B51."""
    for operation in function.body.block.operations:
        if operation.kind is not Kind.PARALLEL or operation.domain is None or not operation.domain.is_static:
            continue
        size = prod(operation.domain.shape)
        if size == 0:
            yield fault(function, f"the root parallel is empty: {operation.domain}", "empty-root", operation=operation)
        if size > MAX_ELEMENTS:
            yield fault(
                function, f"the root parallel has {size} instances, beyond int32", "root-too-large", operation=operation
            )


def static_spaces(function: Function) -> Iterator[Problem]:
    """B50, B51."""
    for operation in function.walk():
        spaces = [operation.domain, *(space_of(result.type) for result in operation.results)]
        for space in dict.fromkeys(space for space in spaces if space is not None):
            if not space.is_static:
                yield fault(function, f"{space} is not static", "dynamic-extent", "capture with fixed sizes", operation)
            elif any(extent > MAX_DOMAIN for extent in space.shape):
                yield fault(function, f"{space} is beyond uint32", "extent-too-large", operation=operation)


def tile_budget(function: Function) -> Iterator[Problem]:
    """B52: state of one thread."""
    for operation in function.walk():
        for result in operation.results:
            space = space_of(result.type)
            if not isinstance(result.type, TileType) or space is None or not space.is_static:
                continue
            stored = operation.kind in (Kind.MMA, Kind.SERIAL, Kind.PIPELINE, Kind.REDUCE)
            if stored and prod(space.shape) > MAX_PRIVATE_ELEMENTS:
                yield fault(
                    function,
                    f"a tile of {prod(space.shape)} elements exceeds the expansion budget of {MAX_PRIVATE_ELEMENTS}; "
                    "choose smaller Tiles",
                    "tile-budget",
                    operation=operation,
                )


def scopes(function: Function) -> Iterator[Problem]:
    """B45, B81: a program is a thread, so the root may be automatic or worker, everything in it automatic."""
    for operation in function.walk():
        root = operation.parent_operation is None
        if operation.scope is None or (root and operation.scope is Scope.WORKER):
            continue
        yield fault(
            function,
            f"the CUDA reference route cannot honor a {operation.scope.value} binding"
            f"{'' if root else ' of a nested parallel'}",
            "execution-scope",
            "leave the scope out; the root may be bound to worker",
            operation,
        )


def supported_operations(function: Function) -> Iterator[Problem]:
    """B46, B48: what the table of operations rejects."""
    for operation in function.walk():
        rejection = REJECTIONS.get(operation.kind)
        if rejection:
            yield fault(
                function,
                f"`{operation.kind.value}`: {rejection.what}",
                "unsupported-operation",
                rejection.hint,
                operation,
            )


def supported_elements(function: Function) -> Iterator[Problem]:
    """B47."""
    for operation in function.walk():
        for value in computed(operation):
            found = element_of(value.type)
            if found is not None and found not in C_TYPES:
                yield fault(
                    function,
                    f"unsupported scalar type {found} in `{operation.kind.value}`",
                    "unsupported-element",
                    "compute in f32: tile.cast(x, tile.f32)",
                    operation,
                )
                break


def computed(operation: Operation) -> list[Value]:
    """Results and block arguments an operation defines."""
    return [
        *operation.results,
        *(each for region in operation.regions for block in region.blocks for each in block.arguments),
    ]


CHECKS: tuple[Check, ...] = (
    argument_abi,
    buffer_count,
    root_parallel,
    root_domain,
    static_spaces,
    tile_budget,
    scopes,
    supported_operations,
    supported_elements,
)


def function_problems(function: Function) -> list[Problem]:
    return [problem for check in CHECKS for problem in check(function)]
