"""Emission of nests inside a program: ordered loops with carries in variables, nested parallels as loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from math import prod
from typing import cast

from tilewright.lowering.metal.emission import Emission, Stored, Tile, element
from tilewright.lowering.metal.msl import TYPES
from tilewright.lowering.metal.scalars import Scalar, held_as, unknown
from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.ops.nests import OrderedNest, Parallel
from tilewright.tileir.types import TileType, is_scalar

Carry = Scalar | Stored
"""The variable of a carried value, an array for a tile."""


def emit_ordered(emission: Emission, operation: Operation) -> None:
    """A loop over the flattened domain in row-major order. All carries change at once, where the body ends."""
    nest = cast(OrderedNest, operation)
    carries = [declared(emission, initial) for initial in nest.initial]
    with ExitStack() as loops:
        inner = emission.child()
        for coordinate, extent in zip(nest.coordinates, nest.space.shape, strict=True):
            inner.set_scalar(coordinate, inner.loop(loops, extent))
        for carry, value in zip(carries, nest.carried, strict=True):
            bind(inner, carry, value)
        inner.run(nest.body)
        update(inner, carries, nest.carried, nest.yielded)
    for carry, result in zip(carries, nest.results, strict=True):
        bind(emission, carry, result)


def declared(emission: Emission, initial: Value) -> Carry:
    """Declares the variable of a carry with its first value."""
    if isinstance(initial.type, TileType):
        array = emission.array("c", initial.type)
        emission.fill(array, emission.tile(initial))
        return array
    kind = element(initial)
    name = emission.writer.name("c")
    emission.writer.line(f"{TYPES[kind]} {name} = {emission.scalar(initial).text};")
    return unknown(name, kind)


def bind(emission: Emission, carry: Carry, value: Value) -> None:
    if isinstance(carry, Stored):
        emission.set_tile(value, carry)
    else:
        emission.set_scalar(value, carry)


def update(emission: Emission, carries: Sequence[Carry], current: Sequence[Value], following: Sequence[Value]) -> None:
    """All new values are computed before the first carry changes."""
    copies: list[tuple[Carry, Tile | Scalar]] = []
    for carry, old, new in zip(carries, current, following, strict=True):
        if new is old:
            continue
        if is_scalar(new.type):
            copies.append((carry, emission.writer.copied(emission.scalar(new))))
            continue
        assert isinstance(new.type, TileType), new  # noqa: S101
        tile = emission.tile(new)
        fresh = isinstance(tile, Stored) and tile not in carries
        copies.append((carry, tile if fresh else emission.stored(tile, new.type)))
    for carry, source in copies:
        if isinstance(carry, Stored):
            assert not isinstance(source, Scalar), source  # noqa: S101
            emission.fill(carry, source)
        elif isinstance(source, Scalar):
            emission.writer.line(f"{carry.text} = {held_as(source, carry.word)};")


def emit_parallel(emission: Emission, operation: Operation) -> None:
    """A parallel inside the program of a thread: its instances one after the other."""
    nest = cast(Parallel, operation)
    if prod(nest.space.shape) == 0:
        return
    with ExitStack() as loops:
        inner = emission.child()
        for coordinate, extent in zip(nest.coordinates, nest.space.shape, strict=True):
            inner.set_scalar(coordinate, inner.loop(loops, extent))
        inner.run(nest.body)


def emit_nothing(emission: Emission, operation: Operation) -> None:
    """Stage cuts keep source order; yields are read by the nest."""
