"""Whether a function is a row program: proofs over the IR, each with its number in the catalogue, and the work it is.

A row program reduces FP32 tiles of one row; everything else in it is pure or a load or store of the row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import cast

from tilewright.lowering.metal.emission import tile_space
from tilewright.lowering.metal.function_checks import PROGRAM_CHECKS, fault, function_problems, roots
from tilewright.lowering.metal.placement import mutable_views, stored_tiles, volume
from tilewright.lowering.metal.reductions.plan import Work
from tilewright.problem import Problem
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.nests import Parallel, Reduce
from tilewright.tileir.ops.values import Constant, Elementwise
from tilewright.tileir.ops.views import StoreTile
from tilewright.tileir.types import Element, element_of, is_scalar
from tilewright.tileir.vocabulary import Kind, Opcode, Scope

IDENTITIES = {Opcode.ADD: 0.0, Opcode.MAX: -math.inf, Opcode.MIN: math.inf}
COLLECTIVES = {Opcode.ADD: "simd_sum", Opcode.MAX: "simd_max", Opcode.MIN: "simd_min"}


@dataclass(frozen=True, slots=True)
class Row:
    """A proved row program: its root, the opcode of each reduction, the tiles to stripe, its work."""

    root: Parallel
    reductions: dict[Reduce, Opcode]
    striped: frozenset[Value]
    work: Work


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an operation has no place in a row program."""

    number: str
    what: str


PURE = None
BODY: dict[Kind, Refused | None] = {
    Kind.CONSTANT: PURE,
    Kind.ELEMENTWISE: PURE,
    Kind.TILE_MAP: PURE,
    Kind.EXTRACT: PURE,
    Kind.MMA: Refused("B112", "a contraction is no add, max or min of a row"),
    Kind.LOAD_ELEMENT: PURE,
    Kind.STORE_ELEMENT: PURE,
    Kind.LOAD_TILE: PURE,
    Kind.STORE_TILE: PURE,
    Kind.ALLOC: Refused("B120", "explicit manual Memory is never inferred away"),
    Kind.MEMORY_LOAD: Refused("B120", "explicit manual Memory is never inferred away"),
    Kind.MEMORY_STORE: Refused("B120", "explicit manual Memory is never inferred away"),
    Kind.PARALLEL: Refused("B115", "a logical parallel nested in a row program"),
    Kind.SERIAL: Refused("B114", "control around a reduction has to be uniform: an ordered loop is not mapped"),
    Kind.PIPELINE: Refused("B114", "control around a reduction has to be uniform: an ordered loop is not mapped"),
    Kind.REDUCE: Refused("B112", "a fold outside a tile.map over kept axes, whose carry may be observed"),
    Kind.STAGE: Refused("B114", "a phase of a pipeline"),
    Kind.YIELD: PURE,
    Kind.CUSTOM: Refused("B112", "an extension with unknown effects"),
}
"""Every kind of operation, directly in the body of a row program."""


def row_program(function: Function) -> Row | list[Problem]:
    """The proof that a function is a row program, or everything that speaks against it."""
    problems = function_problems(function, PROGRAM_CHECKS)
    if not problems:
        problems = [problem for check in CHECKS for problem in check(function)]
    if problems:
        return problems
    (root,) = roots(function)
    folds = {fold: cast(Elementwise, next(combined(fold))).code for fold in reductions_of(function)}
    striped = frozenset(
        value for value in stored_tiles(function) if value.block is root.body or value.block is function.body.block
    )
    return Row(root, folds, striped, work_of(root, folds, striped))


def work_of(root: Parallel, folds: dict[Reduce, Opcode], striped: frozenset[Value]) -> Work:
    """The domains in the terms of the planner."""
    domains = [prod(fold.space.shape) for fold in folds]
    for operation in root.body.operations:
        match operation.kind:
            case Kind.STORE_TILE:
                domains.append(volume(cast(StoreTile, operation).stored))
            case Kind.STORE_ELEMENT | Kind.LOAD_ELEMENT:
                domains.append(1)
    sizes = tuple(sorted(volume(each) for each in striped))
    return Work(prod(root.space.shape), (*domains, *sizes), len(folds), sizes)


def scope(function: Function) -> Iterator[Problem]:
    """B110: the root is automatic or a subgroup."""
    for root in roots(function):
        if root.scope not in (None, Scope.SUBGROUP):
            what = f"a row program cannot honor a {root.scope.value} binding"
            yield fault(function, what, "row-scope", 'leave the scope out, or scope="subgroup"', root)


def something_to_reduce(function: Function) -> Iterator[Problem]:
    """B112."""
    if not reductions_of(function):
        yield fault(function, "a row program has a reduction; there is none", "no-reduction")


def body(function: Function) -> Iterator[Problem]:
    """B112, B114, B115, B120: what the table refuses in the body of the root."""
    for operation in (each for root in roots(function) for each in root.body.operations):
        refused = BODY[operation.kind]
        if refused:
            yield fault(function, f"`{operation.kind.value}`: {refused.what}", "row-body", operation=operation)


def empty_domains(function: Function) -> Iterator[Problem]:
    """B115: a domain without elements has no owner."""
    for operation in function.walk():
        spaces = [operation.domain, *(tile_space(each) for each in operation.results)]
        if any(space is not None and prod(space.shape) == 0 for space in spaces):
            what = f"`{operation.kind.value}` has a domain without elements"
            yield fault(function, what, "row-domain", operation=operation)


def maps(function: Function) -> Iterator[Problem]:
    """B112, B114: a map with a loop is one reduction of one row."""
    for generator in (each for each in function.walk() if each.kind is Kind.TILE_MAP):
        inner = [each for each in generator.body.operations if each.regions]
        folds = [each for each in inner if each.kind is Kind.REDUCE]
        others = [each for each in inner if each.kind is not Kind.REDUCE]
        if others:
            what = f"`{others[0].kind.value}` inside a map: only a uniform reduction is mapped"
            yield fault(function, what, "row-map", operation=generator)
        if folds and volume(generator.result) != 1:
            what = f"a reduction that keeps {generator.domain}: a row program has one row"
            yield fault(function, what, "row-map", "one row a program: make the kept axes extents of 1", generator)


def reducers(function: Function) -> Iterator[Problem]:
    """B112: FP32, add, max or min, its identity, a pure contribution, a carry that nothing else sees."""
    for fold in reductions_of(function):
        for what in reducer_faults(fold):
            yield fault(function, what, "row-reducer", "tile.sum, tile.max and tile.min are mapped", fold)


def reducer_faults(fold: Reduce) -> Iterator[str]:
    if (
        len(fold.initial) != 1
        or element_of(fold.initial[0].type) is not Element.F32
        or not is_scalar(fold.results[0].type)
    ):
        yield "a reduction carries one FP32 scalar"
        return
    if any(each.regions for each in fold.body.operations):
        yield "a loop inside a reduction is not uniform"
    combining = next(combined(fold), None)
    if combining is None:
        yield "the reducer is not add, max or min of FP32 with a carry that nothing else observes"
        return
    initial = fold.initial[0].definition
    wanted = IDENTITIES[cast(Elementwise, combining).code]
    value = cast(Constant, initial).value if initial is not None and initial.kind is Kind.CONSTANT else None
    if not isinstance(value, float) or value != wanted or math.copysign(1.0, value) != math.copysign(1.0, wanted):
        yield f"the initial value is {value}, not the identity {wanted}"


def combined(fold: Reduce) -> Iterator[Operation]:
    """The element-wise operation that gives the next carry, if it is a legal reducer."""
    carry = fold.carried[0]
    following = fold.yielded[0].definition
    if (
        following is not None
        and following.kind is Kind.ELEMENTWISE
        and following.parent is fold.body
        and cast(Elementwise, following).code in IDENTITIES
        and len(carry.uses) == 1
        and carry.users == [following]
        and len(fold.yielded[0].uses) == 1
    ):
        yield following


def immutable_inputs(function: Function) -> Iterator[Problem]:
    """B113."""
    for view in mutable_views(function):
        what = f"`{view.name}` is both read and written: arguments have to be noalias"
        yield fault(function, what, "row-alias", "write to a view of its own")


def stores(function: Function) -> Iterator[Problem]:
    """B115: an element of a view is written by one worker."""
    seen: set[Value] = set()
    for root in roots(function):
        for operation in root.body.operations:
            if operation.kind in (Kind.STORE_TILE, Kind.STORE_ELEMENT):
                view = operation.operands[0]
                if view in seen:
                    what = f"`{view.name}` is stored twice: the second store may meet elements of another worker"
                    yield fault(function, what, "row-store", "store once, from one tile", operation)
                seen.add(view)


def reductions_of(function: Function) -> list[Reduce]:
    """The folds inside maps."""
    inside = (each for each in function.walk() if each.kind is Kind.REDUCE)
    return [cast(Reduce, each) for each in inside if is_in_map(each)]


def is_in_map(operation: Operation) -> bool:
    parent = operation.parent_operation
    return parent is not None and parent.kind is Kind.TILE_MAP


Check = Callable[[Function], Iterator[Problem]]
CHECKS: tuple[Check, ...] = (scope, something_to_reduce, body, empty_domains, maps, reducers, immutable_inputs, stores)
