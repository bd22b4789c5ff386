"""Emission of execution nests: ordered loops with carries in private variables, nested parallels as loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

from tilewright.lowering.cuda.emission import VECTOR, Emission, element
from tilewright.lowering.cuda.placement import REGISTERS, volume
from tilewright.lowering.cuda.scalars import C_TYPES, Scalar, lanes
from tilewright.lowering.cuda.tiles import PrivateArray
from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.ops.nests import OrderedNest, Parallel
from tilewright.tileir.types import TileType, is_scalar
from tilewright.tileir.vocabulary import Kind

LIGHT = frozenset({Kind.CONSTANT, Kind.ELEMENTWISE, Kind.EXTRACT, Kind.YIELD})
"""What a loop body may hold to be written four times, once a lane of a vector."""
LIGHT_OPERATIONS = 24
UNROLLED_VECTORS = 8
"""Vectors in flight in a fold: its loads do not depend on it."""


@dataclass(frozen=True)
class Carry:
    """A carried value: a variable, or an array for a tile."""

    value: Value
    place: Scalar | PrivateArray


def emit_ordered(emission: Emission, operation: Operation) -> None:
    """A loop over the flattened domain in row-major order. All carries change at once, where the body ends."""
    nest = cast(OrderedNest, operation)
    carries = [
        declared(emission, initial, carried) for initial, carried in zip(nest.initial, nest.carried, strict=True)
    ]
    shape = nest.space.shape
    grouped = bool(shape) and emission.program.vectors and shape[-1] % VECTOR == 0 and light(nest)
    whole = light(nest) and volume(nest.space) <= REGISTERS
    with ExitStack() as loops:
        index: list[Scalar] = []
        for place, extent in enumerate(shape):
            last = place == len(shape) - 1
            step = VECTOR if grouped and last else 1
            unroll = UNROLLED_VECTORS if step > 1 else 0
            index.append(emission.loop(loops, extent, step=step, whole=whole, unroll=unroll))
        points = [[*index[:-1], lane] for lane in lanes(index[-1], VECTOR)] if grouped else [index]
        for point in points:
            iteration(emission.child(), nest, carries, point)
    for carry, result in zip(carries, nest.results, strict=True):
        bind_carry(emission, carry, result)


def iteration(emission: Emission, nest: OrderedNest, carries: Sequence[Carry], point: Sequence[Scalar]) -> None:
    """One trip: the body with its coordinates and carries bound, then the new values."""
    for coordinate, place in zip(nest.coordinates, point, strict=True):
        emission.set_scalar(coordinate, place)
    for carry in carries:
        bind_carry(emission, carry, carry.value)
    emission.run(nest.body)
    update(emission, carries, nest.yielded)


def bind_carry(emission: Emission, carry: Carry, value: Value) -> None:
    if isinstance(carry.place, PrivateArray):
        emission.set_tile(value, carry.place)
    else:
        emission.set_scalar(value, carry.place)


def declared(emission: Emission, initial: Value, carried: Value) -> Carry:
    """Declares the variable of a carry and gives it its first value."""
    if isinstance(carried.type, TileType):
        array = emission.array("c", carried.type)
        emission.fill(array, emission.tile(initial))
        return Carry(carried, array)
    kind = element(carried)
    name = emission.writer.name("c")
    emission.writer.line(f"{C_TYPES[kind]} {name} = {emission.scalar(initial).text};")
    return Carry(carried, Scalar(name, kind, kind.integer_range() if kind.is_integer else (0, 0)))


def update(emission: Emission, carries: Sequence[Carry], yielded: Sequence[Value]) -> None:
    """All new values are computed before the first carry changes."""
    arrays = {carry.place for carry in carries if isinstance(carry.place, PrivateArray)}
    copies: list[tuple[Carry, Scalar | PrivateArray]] = []
    for carry, value in zip(carries, yielded, strict=True):
        if value is carry.value:
            continue
        if is_scalar(value.type):
            copies.append((carry, saved(emission, emission.scalar(value))))
            continue
        tile = emission.tile(value)
        if isinstance(tile, PrivateArray) and tile not in arrays:
            copies.append((carry, tile))
            continue
        assert isinstance(value.type, TileType), value  # noqa: S101
        fresh = emission.array("n", value.type)
        emission.fill(fresh, tile)
        copies.append((carry, fresh))
    for carry, source in copies:
        if isinstance(carry.place, PrivateArray) and isinstance(source, PrivateArray):
            emission.fill(carry.place, source)
        elif isinstance(source, Scalar) and isinstance(carry.place, Scalar):
            emission.writer.line(f"{carry.place.text} = {source.text};")


def saved(emission: Emission, value: Scalar) -> Scalar:
    """The value in a constant of its own, which a change of a carry does not reach."""
    name = emission.writer.name("n")
    emission.writer.line(f"const {value.c_type} {name} = {value.text};")
    return Scalar(name, value.element, value.interval, value.multiple)


def light(nest: OrderedNest) -> bool:
    """A body of a few scalar operations, worth repeating for the lanes of a vector."""
    operations = nest.body.operations
    return len(operations) <= LIGHT_OPERATIONS and all(
        operation.kind in LIGHT and all(is_scalar(result.type) for result in operation.results)
        for operation in operations
    )


def emit_parallel(emission: Emission, operation: Operation) -> None:
    """A parallel inside the program of a thread: its instances one after the other."""
    nest = cast(Parallel, operation)
    if volume(nest.space) == 0:
        return
    with ExitStack() as loops:
        inner = emission.child()
        for coordinate, extent in zip(nest.coordinates, nest.space.shape, strict=True):
            inner.set_scalar(coordinate, emission.loop(loops, extent))
        inner.run(nest.body)


def emit_nothing(emission: Emission, operation: Operation) -> None:
    """Stage cuts keep source order; yields are read by the nest."""
