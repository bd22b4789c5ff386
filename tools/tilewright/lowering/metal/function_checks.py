"""Refusal of functions without a form as Metal programs. Each check names its number in the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import cast

from tilewright.lowering.metal.device import MAX_BUFFERS
from tilewright.lowering.metal.msl import TYPES
from tilewright.lowering.metal.placement import stored_tiles, volume
from tilewright.lowering.metal.table import REJECTIONS
from tilewright.problem import Problem
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.types import TileType, ViewType, element_of, space_of
from tilewright.tileir.vocabulary import MEMORY_EFFECTS, ORDERED_NESTS, Kind, Scope

Check = Callable[[Function], Iterator[Problem]]

MAX_ELEMENTS = 2**31 - 1
MAX_THREADS = 2**31 - 1
MAX_PRIVATE_BYTES = 2**16
"""Most bytes of arrays that one thread may ask for."""


def fault(function: Function, what: str, rule: str, hint: str = "", operation: Operation | None = None) -> Problem:
    """A problem of that function, at the operation's place in the user's source."""
    return Problem(f"`{function.name}`: {what}", operation.place if operation else None, hint, rule)


def argument_abi(function: Function) -> Iterator[Problem]:
    """B49, B50, B54, B138."""
    for parameter in function.parameters:
        type = parameter.type
        legal = (
            isinstance(type, ViewType)
            and type.element in TYPES
            and type.space.is_static
            and 0 < prod(type.space.shape) <= MAX_ELEMENTS
        )
        if not legal:
            what = (
                f"`{parameter.name}` is of type {type}; arguments are buffer Views: nonempty, static, "
                f"int32-addressable, of {', '.join(each.label for each in TYPES)}"
            )
            yield fault(function, what, "argument-abi", "capture it as f32 with extents of 1 or more")


def buffer_count(function: Function) -> Iterator[Problem]:
    """B141, B171."""
    used = sum(1 for parameter in function.parameters if parameter.uses)
    if used > MAX_BUFFERS:
        yield fault(function, f"{used} buffers exceed the binding capacity of {MAX_BUFFERS} buffers", "buffer-count")


def root_parallel(function: Function) -> Iterator[Problem]:
    """B40 to B42, B153."""
    operations = function.body.block.operations
    roots = [each for each in operations if each.kind is Kind.PARALLEL]
    if not roots:
        yield fault(function, "a kernel requires a root parallel", "no-root-parallel", "for p in tile.parallel(n): ...")
    for extra in roots[1:]:
        what = "exactly one independent root parallel can be launched; these are multiple root launches"
        yield fault(function, what, "two-root-parallels", "make one kernel of each", extra)
    for operation in operations:
        if operation.kind in ORDERED_NESTS or operation.kind in MEMORY_EFFECTS:
            what = f"root effects are host work, a multi-launch program: `{operation.kind.value}` outside the parallel"
            yield fault(function, what, "host-work", "move it into the parallel", operation)


def root_domain(function: Function) -> Iterator[Problem]:
    """B43, B50, B51, B140."""
    for root in roots(function):
        count = root.space.static_volume()
        if count is None:
            yield fault(function, f"the root domain {root.space} is not static", "dynamic-extent", operation=root)
        elif count == 0:
            yield fault(function, f"the root domain {root.space} is empty", "empty-domain", operation=root)
        elif count > MAX_THREADS:
            what = f"the root domain {root.space} has {count} programs: grid times threads overflows int32"
            yield fault(function, what, "grid-overflow", "use larger tiles", root)


def static_spaces(function: Function) -> Iterator[Problem]:
    """B50."""
    for operation in function.walk():
        spaces = [operation.domain, *(space_of(value.type) for value in defined(operation))]
        if any(space is not None and not space.is_static for space in spaces):
            what = f"`{operation.kind.value}` has a dynamic extent; extents are static here"
            yield fault(function, what, "dynamic-extent", "capture the kernel with sizes", operation)


def addressable_spaces(function: Function) -> Iterator[Problem]:
    """B51: elements of a tile and iterations of a nest are numbered in an int."""
    for operation in function.walk():
        spaces = [operation.domain, *(space_of(value.type) for value in operation.results)]
        count = max((space.static_volume() or 0 for space in spaces if space is not None), default=0)
        if count > MAX_ELEMENTS and operation.parent_operation is not None:
            what = f"`{operation.kind.value}` has {count} elements or iterations; int32 is the most that is numbered"
            yield fault(function, what, "space-range", "use smaller tiles", operation)


def private_storage(function: Function) -> Iterator[Problem]:
    """B52: tiles that get an array of a thread."""
    if any(function_space_is_dynamic(operation) for operation in function.walk()):
        return
    stored = stored_tiles(function)
    total = 0
    for operation in function.walk():
        kept = operation.kind in (Kind.MMA, *ORDERED_NESTS)
        for result in operation.results:
            if isinstance(result.type, TileType) and (kept or result in stored):
                total += volume(result) * result.type.element.size
    if total > MAX_PRIVATE_BYTES:
        what = f"the tiles of one program take {total} bytes, over the expansion budget of {MAX_PRIVATE_BYTES} a thread"
        yield fault(function, what, "private-storage", "choose smaller Tiles, or subgroup_reductions=True for rows")


def function_space_is_dynamic(operation: Operation) -> bool:
    spaces = [operation.domain, *(space_of(value.type) for value in (*operation.operands, *defined(operation)))]
    return any(space is not None and not space.is_static for space in spaces)


def supported_operations(function: Function) -> Iterator[Problem]:
    """B46, B48, B120: what the table of operations rejects."""
    for operation in function.walk():
        rejection = REJECTIONS.get(operation.kind)
        if rejection:
            what = f"`{operation.kind.value}`: {rejection.what}"
            yield fault(function, what, "unsupported-operation", rejection.hint, operation)


def supported_elements(function: Function) -> Iterator[Problem]:
    """B47."""
    for operation in function.walk():
        for value in defined(operation):
            found = element_of(value.type)
            if found is not None and found not in TYPES:
                what = f"unsupported scalar type {found} in `{operation.kind.value}`: Metal computes in f32 here"
                yield fault(function, what, "unsupported-element", "compute in f32: tile.cast(x, tile.f32)", operation)
                break


def worker_scopes(function: Function) -> Iterator[Problem]:
    """B45, B81: a program is a thread, so the root is automatic or worker and what is in it automatic."""
    for operation in function.walk():
        root = operation.parent_operation is None
        if operation.scope is None or (root and operation.scope is Scope.WORKER):
            continue
        nested = "" if root else " of a nested parallel"
        what = f"a program of one thread cannot honor a {operation.scope.value} binding{nested}"
        hint = "leave the scope out; group is a form of metal_mpp, subgroup of subgroup_reductions"
        yield fault(function, what, "execution-scope", hint, operation)


def defined(operation: Operation) -> list[Value]:
    """Results and block arguments of an operation."""
    blocks = [block for region in operation.regions for block in region.blocks]
    return [*operation.results, *(each for block in blocks for each in block.arguments)]


def roots(function: Function) -> list[Parallel]:
    """The parallels at the root of the function."""
    return [cast(Parallel, each) for each in function.body.block.operations if each.kind is Kind.PARALLEL]


PROGRAM_CHECKS: tuple[Check, ...] = (
    argument_abi,
    buffer_count,
    root_parallel,
    root_domain,
    static_spaces,
    addressable_spaces,
    supported_operations,
    supported_elements,
)
"""What every form but the native matrix product asks of a function."""

REFERENCE_CHECKS: tuple[Check, ...] = (*PROGRAM_CHECKS, worker_scopes, private_storage)


def function_problems(function: Function, checks: tuple[Check, ...]) -> list[Problem]:
    """Everything that any of the checks finds."""
    return [problem for check in checks for problem in check(function)]
