"""Emission of loads and stores. An address is computed only where its guard holds; proved guards are left out.

A vector of four is one float4 access when its first element is proved to lie at a multiple of four elements and its
guard is the same for all four; that the pointer itself is aligned is asked once, at run time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from tilewright.lowering.cuda.emission import VECTOR, Emission, element, tile_space
from tilewright.lowering.cuda.placement import volume
from tilewright.lowering.cuda.scalars import Scalar, add, constant, flat_index
from tilewright.lowering.cuda.tiles import Index
from tilewright.tileir.graph import Operation
from tilewright.tileir.ops.views import LoadElement, LoadTile, StoreElement, StoreTile, ViewAccess
from tilewright.tileir.types import Element

LANES = "xyzw"


@dataclass(frozen=True, slots=True)
class Address:
    """Where one element lies: offset into the view, condition under which that is inside ("" = always), divisor."""

    offset: str
    guard: str
    multiple: int


def address(emission: Emission, access: ViewAccess, index: Index, *, guarded: bool) -> Address:
    """The address of origin + index; with `guarded`, its condition."""
    space = tile_space(access.view)
    places = tuple(add(emission.scalar(origin), each) for origin, each in zip(access.origins, index, strict=True))
    conditions: list[str] = []
    for place, extent in zip(places, space.shape, strict=True):
        if not guarded:
            break
        if place.interval[0] < 0:
            conditions.append(f"{place.text} >= 0")
        if place.interval[1] >= extent:
            conditions.append(f"{place.text} < {extent}")
    offset, multiple = flat_index(places, space.strides())
    return Address(offset, " && ".join(conditions), multiple)


def vector_address(emission: Emission, access: ViewAccess, first: Index, *, guarded: bool) -> Address | None:
    """The address of four consecutive elements that starts at `first`, or None when no float4 may be used."""
    space = tile_space(access.view)
    if not emission.program.vectors or element(access.view) is not Element.F32:
        return None
    found = address(emission, access, first, guarded=guarded)
    if found.multiple % VECTOR:
        return None
    start = add(emission.scalar(access.origins[-1]), first[-1])
    same_guard = start.multiple % VECTOR == 0 and space.shape[-1] % VECTOR == 0
    return found if same_guard or not guarded else None


def emit_load_tile(emission: Emission, operation: Operation) -> None:
    load = cast(LoadTile, operation)
    fill = constant(0, element(load.view)) if load.fill is None else emission.scalar(load.fill)
    pointer = emission.program.pointers[load.view]

    def compute(index: Index) -> Scalar:
        vector = vector_lane(emission, load, index, fill)
        if vector is not None:
            return vector
        at = address(emission, load, index, guarded=load.guarded)
        read = f"{pointer}[{at.offset}]"
        text = f"({at.guard} ? {read} : {fill.text})" if at.guard else f"({read})"
        return Scalar(text, fill.element)

    emission.set_tile(load.result, emission.deferred(compute))


def vector_lane(emission: Emission, load: LoadTile, index: Index, fill: Scalar) -> Scalar | None:
    """One lane of a float4 load, which is made for the first lane that is asked for."""
    base = index[-1].base if index else None
    if base is None or any(each.base is not None for each in index[:-1]):
        return None
    first = (*index[:-1], base)
    key = (load, emission, *(each.text for each in first))
    name = emission.writer.recall(key)
    if name is None:
        at = vector_address(emission, load, first, guarded=load.guarded)
        if at is None:
            return None
        pointer = emission.program.pointers[load.view]
        emission.program.vector_pointers.add(pointer)
        name = emission.writer.name("q")
        read = f"*reinterpret_cast<const float4*>({pointer} + ({at.offset}))"
        other = f"make_float4({', '.join([fill.text] * VECTOR)})"
        emission.writer.line(f"const float4 {name} = {f'{at.guard} ? {read} : {other}' if at.guard else read};")
        emission.writer.remember(key, name)
    return Scalar(f"({name}.{LANES[index[-1].lane]})", fill.element)


def emit_load_element(emission: Emission, operation: Operation) -> None:
    """Read where the program stands; the fallback where the predicate is false, without touching memory."""
    load = cast(LoadElement, operation)
    at = address(emission, load, zeros(load), guarded=False)
    read = f"{emission.program.pointers[load.view]}[{at.offset}]"
    if load.predicate is not None and load.fallback is not None:
        read = f"{emission.scalar(load.predicate).text} ? {read} : {emission.scalar(load.fallback).text}"
    emission.set_scalar(load.result, emission.writer.bind(Scalar(f"({read})", element(load.view))))


def emit_store_element(emission: Emission, operation: Operation) -> None:
    store = cast(StoreElement, operation)
    at = address(emission, store, zeros(store), guarded=False)
    pointer = emission.program.pointers[store.view]
    emission.writer.line(f"{pointer}[{at.offset}] = {emission.scalar(store.stored).text};")


def zeros(access: ViewAccess) -> Index:
    """The index of an element access relative to its origins."""
    return (constant(0, Element.I64),) * access.rank


def emit_store_tile(emission: Emission, operation: Operation) -> None:
    """One loop over the tile; every element inside the view is written."""
    store = cast(StoreTile, operation)
    space = tile_space(store.stored)
    if volume(space) == 0:
        return
    with emission.each(space, unroll=VECTOR if math.prod(space.shape) > VECTOR else 0) as points:
        store_points(emission, store, points)


def store_points(emission: Emission, store: StoreTile, points: list[Index]) -> None:
    """Writes one element, or the four of a vector."""
    tile = emission.tile(store.stored)
    pointer = emission.program.pointers[store.view]
    values = [tile.at(index).text for index in points]
    base = points[0][-1].base if points[0] else None
    if len(points) == VECTOR and base is not None:
        at = vector_address(emission, store, (*points[0][:-1], base), guarded=store.guarded)
        if at is not None:
            emission.program.vector_pointers.add(pointer)
            written = f"*reinterpret_cast<float4*>({pointer} + ({at.offset})) = make_float4({', '.join(values)});"
            emission.writer.line(f"if ({at.guard}) {{ {written} }}" if at.guard else written)
            return
    for index, value in zip(points, values, strict=True):
        at = address(emission, store, index, guarded=store.guarded)
        written = f"{pointer}[{at.offset}] = {value};"
        emission.writer.line(f"if ({at.guard}) {{ {written} }}" if at.guard else written)
