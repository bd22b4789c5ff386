"""Refusal of functions whose frame is not that of a native matrix product. Numbers are those of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import cast

from tilewright.lowering.metal.emission import tile_space
from tilewright.lowering.metal.function_checks import MAX_ELEMENTS, buffer_count, fault, roots
from tilewright.lowering.metal.mpp.table import REJECTIONS
from tilewright.problem import Problem
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.ops.values import Extract, TileMap
from tilewright.tileir.types import Element, ViewType
from tilewright.tileir.usage import Usage, usages
from tilewright.tileir.vocabulary import Kind, Scope

Check = Callable[[Function], Iterator[Problem]]

MAX_VOLUME = 2**32 - 1
MATRIX_RANK = 2


def dense_matrices(function: Function) -> Iterator[Problem]:
    """B150, B151."""
    for parameter in function.parameters:
        type = parameter.type
        if not isinstance(type, ViewType) or type.element is not Element.F32 or type.space.rank != MATRIX_RANK:
            legal = False
        else:
            legal = type.space.is_static and prod(type.space.shape) > 0
        if not legal:
            what = f"`{parameter.name}` is {type}; native MPP takes dense rank-two FP32 arguments, static, nonempty"
            yield fault(function, what, "mpp-argument", "capture it as f32 with two extents")
        elif isinstance(type, ViewType) and prod(type.space.shape) > MAX_ELEMENTS:
            what = f"`{parameter.name}` has {prod(type.space.shape)} elements, beyond signed int32 addressing"
            yield fault(function, what, "mpp-addressing", "split the matrix")


def one_effect(function: Function) -> Iterator[Problem]:
    """B167."""
    for parameter, usage in zip(function.parameters, usages(function), strict=True):
        if usage == Usage.READ | Usage.WRITE:
            what = f"`{parameter.name}` is both read and written; operands are forwarded as views"
            yield fault(function, what, "mpp-alias", "write to a view of its own")


def launch_frame(function: Function) -> Iterator[Problem]:
    """B152, B153, B154: one root over groups, with at most one level of explicit subgroups."""
    found = roots(function)
    if not found:
        yield fault(function, "no root parallel", "mpp-root", 'for p in tile.parallel(gm, gn, scope="group"): ...')
    for extra in found[1:]:
        what = "multiple root launches; one kernel is one launch"
        yield fault(function, what, "mpp-roots", "make one kernel of each", extra)
    for operation in function.body.block.operations:
        if operation.kind not in (Kind.PARALLEL, Kind.CONSTANT, Kind.ELEMENTWISE):
            what = f"`{operation.kind.value}` outside the root: host work, multiple root launches"
            yield fault(function, what, "mpp-roots", "move it into the parallel", operation)
    for operation in function.walk():
        if isinstance(operation, Parallel):
            yield from nest_faults(function, operation)


def nest_faults(function: Function, nest: Parallel) -> Iterator[Problem]:
    depth = sum(1 for _ in nest.ancestors())
    legal = (None, Scope.GROUP) if depth == 0 else (Scope.SUBGROUP,) if depth == 1 else ()
    if nest.scope not in legal:
        bound = nest.scope.value if nest.scope else "automatic"
        what = f"a parallel at depth {depth} bound to {bound}: native MPP has a root group with optional subgroup child"
        yield fault(function, what, "mpp-scope", 'scope="group" for the root, "subgroup" for its child', nest)
    volume = nest.space.static_volume()
    if volume is None or not 0 < volume <= MAX_VOLUME:
        what = f"the domain {nest.space} has no static volume of 1 to {MAX_VOLUME}"
        yield fault(function, what, "mpp-domain", operation=nest)


def one_cohort(function: Function) -> Iterator[Problem]:
    """B154: all subgroup children are one cohort."""
    volumes = [nest.space.static_volume() for nest in cohorts(function)]
    if len(set(volumes)) > 1:
        what = (
            f"subgroup children of {', '.join(map(str, volumes))} instances; a threadgroup has one cohort of subgroups"
        )
        yield fault(function, what, "mpp-cohort", "give every child one domain")


def native_operations(function: Function) -> Iterator[Problem]:
    """B159, B162 to B165: what the table rejects; nothing is erased."""
    reindexings = {each: product for each in function.walk() if (product := reindexed(each))}
    for operation in function.walk():
        rejection = REJECTIONS.get(operation.kind)
        if operation in reindexings:
            given, wanted = tile_space(reindexings[operation]), operation.domain
            what = f"a product over {given} is taken as one over {wanted}: that would need explicit reindexing"
            hint = "give the accumulator the order of the store, tile.zeros((n, m)): a transposed result is native"
            yield fault(function, what, "mpp-reindex", hint, operation)
        elif rejection and operation.parent_operation not in reindexings:
            what = f"`{operation.kind.value}`: {rejection.what}"
            yield fault(function, what, "mpp-operation", rejection.hint, operation)


def reindexed(operation: Operation) -> Value | None:
    """The product whose elements a map gives in another order and does nothing else with."""
    if operation.kind is not Kind.TILE_MAP:
        return None
    generator = cast(TileMap, operation)
    element = generator.element.definition
    if element is None or element.kind is not Kind.EXTRACT or len(generator.body.operations) != 2:
        return None
    read = cast(Extract, element)
    product = read.tile.definition
    if product is None or product.kind is not Kind.MMA or set(read.indices) != set(generator.coordinates):
        return None
    return read.tile


def something_stored(function: Function) -> Iterator[Problem]:
    """B170."""
    if not any(each.kind is Kind.STORE_TILE for each in function.walk()):
        yield fault(function, "no product is stored: an empty/unsupported native MPP kernel", "mpp-empty")


def cohorts(function: Function) -> list[Parallel]:
    """The parallels that are not the root."""
    return [each for each in function.walk() if isinstance(each, Parallel) and each.parent_operation is not None]


CHECKS: tuple[Check, ...] = (
    dense_matrices,
    buffer_count,
    one_effect,
    launch_frame,
    one_cohort,
    native_operations,
    something_stored,
)
