"""Emission of loads and stores. An address is formed only where its guard holds; proved guards are left out."""

from __future__ import annotations

from typing import cast

from tilewright.lowering.metal.emission import Emission, Index, element, origin, tile_space
from tilewright.lowering.metal.scalars import Scalar, add, constant, flat_index, held_as
from tilewright.tileir.graph import Operation
from tilewright.tileir.ops.views import LoadElement, LoadTile, StoreElement, StoreTile, ViewAccess
from tilewright.tileir.types import Element


def emit_load_tile(emission: Emission, operation: Operation) -> None:
    load = cast(LoadTile, operation)
    kind = element(load.view)
    fill = constant(0, kind) if load.fill is None else emission.scalar(load.fill)

    def compute(place: Index) -> Scalar:
        slot, guard = address(emission, load, place, guarded=load.guarded)
        return loaded(f"({guard} ? {slot} : {fill.text})" if guard else f"({slot})", kind)

    emission.define(load.result, compute)


def emit_load_element(emission: Emission, operation: Operation) -> None:
    """Read where the program stands; the fallback where the predicate is false, without touching memory."""
    load = cast(LoadElement, operation)
    kind = element(load.view)
    slot, _ = address(emission, load, origin(tile_space(load.view)), guarded=False)
    text = f"({slot})"
    if load.predicate is not None and load.fallback is not None:
        text = f"({emission.scalar(load.predicate).text} ? {slot} : {emission.scalar(load.fallback).text})"
    emission.set_scalar(load.result, emission.writer.bind(loaded(text, kind)))


def emit_store_tile(emission: Emission, operation: Operation) -> None:
    """A loop over the tile; every element inside the view is written."""
    store = cast(StoreTile, operation)
    with emission.each(tile_space(store.stored)) as place:
        store_point(emission, store, place)


def emit_store_element(emission: Emission, operation: Operation) -> None:
    store = cast(StoreElement, operation)
    slot, _ = address(emission, store, origin(tile_space(store.view)), guarded=False)
    emission.writer.line(f"{slot} = {held(emission.scalar(store.stored))};")


def store_point(emission: Emission, store: StoreTile, place: Index) -> None:
    """Writes one element of the tile, if it lies inside the view."""
    value = emission.tile(store.stored).at(place)
    slot, guard = address(emission, store, place, guarded=store.guarded)
    written = f"{slot} = {held(value)};"
    emission.writer.line(f"if ({guard}) {{ {written} }}" if guard else written)


def address(emission: Emission, access: ViewAccess, place: Index, *, guarded: bool) -> tuple[str, str]:
    """The element at origin + place as text, and the condition under which that is inside ("" = always)."""
    space = tile_space(access.view)
    places = tuple(add(emission.scalar(start), each) for start, each in zip(access.origins, place, strict=True))
    conditions: list[str] = []
    for at, extent in zip(places, space.shape, strict=True):
        if guarded and at.interval[0] < 0:
            conditions.append(f"{at.text} >= 0")
        if guarded and at.interval[1] >= extent:
            conditions.append(f"{at.text} < {extent}")
    return f"{emission.program.pointers[access.view]}[{flat_index(places, space.strides())}]", " && ".join(conditions)


def loaded(text: str, kind: Element) -> Scalar:
    """A value read from memory; an i64 stays a long."""
    return Scalar(text, kind, kind.integer_range() if kind.is_integer else (0, 0))


def held(value: Scalar) -> str:
    """The value as the type of a view's element: an i64 in an int widens by itself."""
    return held_as(value, "long") if value.element is Element.I64 else value.text
