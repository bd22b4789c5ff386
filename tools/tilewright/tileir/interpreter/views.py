"""Interpretation of loads and stores. Loads copy at once, so a later write does not change what was read."""

from __future__ import annotations

from typing import cast

import numpy as np

from tilewright.tileir.errors import known
from tilewright.tileir.graph import Operation
from tilewright.tileir.interpreter.execution import Execution, Step, refuse
from tilewright.tileir.interpreter.vector import COMPUTE, Array, along
from tilewright.tileir.ops.views import LoadElement, LoadTile, StoreElement, StoreTile, ViewAccess
from tilewright.tileir.types import element_of
from tilewright.tileir.vocabulary import Kind


def load_tile(execution: Execution, operation: Operation) -> None:
    load = cast(LoadTile, operation)
    array = execution.arrays[load.view]
    places = tile_places(execution, load)
    valid = inside(places, array)
    if not load.guarded and not valid.all():
        raise outside(load, places, array, ~valid)
    if load.fill is None:
        fill: Array = np.zeros((1,) * places[0].ndim if places else (), _compute(load))
    else:
        fill = execution.read(load.fill)
        fill = fill.reshape(fill.shape + (1,) * load.rank)
    execution.write(load.result, gather(array, places, valid, fill, execution.depth).astype(_compute(load)))


def load_element(execution: Execution, operation: Operation) -> None:
    load = cast(LoadElement, operation)
    array = execution.arrays[load.view]
    places = [execution.read(index).astype(np.int64) for index in load.origins]
    valid = inside(places, array)
    if load.predicate is None or load.fallback is None:
        if not valid.all():
            raise outside(load, places, array, ~valid)
        data = gather(array, places, valid, np.zeros((), _compute(load)), execution.depth)
    else:
        touched = execution.read(load.predicate)
        wrong = touched & ~valid
        if wrong.any():
            raise outside(load, places, array, wrong)
        data = gather(array, places, touched & valid, execution.read(load.fallback), execution.depth)
    execution.write(load.result, data.astype(_compute(load)))


def store_tile(execution: Execution, operation: Operation) -> None:
    store = cast(StoreTile, operation)
    array = execution.arrays[store.view]
    places = tile_places(execution, store)
    valid = inside(places, array)
    if not store.guarded and not valid.all():
        raise outside(store, places, array, ~valid)
    scatter(store, array, places, valid, execution.read(store.stored))


def store_element(execution: Execution, operation: Operation) -> None:
    store = cast(StoreElement, operation)
    array = execution.arrays[store.view]
    places = [execution.read(index).astype(np.int64) for index in store.origins]
    valid = inside(places, array)
    if not valid.all():
        raise outside(store, places, array, ~valid)
    scatter(store, array, places, valid, execution.read(store.stored))


def tile_places(execution: Execution, access: ViewAccess) -> list[Array]:
    """The index along each view axis of every element: origin + element, in lanes then tile axes."""
    assert access.domain is not None, access  # noqa: S101
    shape, depth = execution.shape(access.domain), execution.depth
    places = []
    for place, (origin, size) in enumerate(zip(access.origins, shape, strict=True)):
        start = execution.read(origin).astype(np.int64)
        elements = along(size, depth + place, depth + len(shape))
        places.append(start.reshape(start.shape + (1,) * len(shape)) + elements)
    return places


def inside(places: list[Array], array: Array) -> Array:
    """Where every index lies within the array."""
    valid: Array = np.ones((), np.bool_)
    for place, size in zip(places, array.shape, strict=True):
        if place.size and (place.min() < 0 or place.max() >= size):
            valid = valid & (place >= 0) & (place < size)
    return valid


def gather(array: Array, places: list[Array], valid: Array, fill: Array, depth: int) -> Array:
    """The elements at valid places, `fill` elsewhere."""
    if not places:
        data = np.broadcast_to(array, (1,) * depth)
        return data if valid.all() else np.where(valid, data, fill)
    if valid.all():
        return np.asarray(array[tuple(places)])
    if not array.size:
        shape = np.broadcast_shapes(*(place.shape for place in places), fill.shape)
        return np.broadcast_to(fill, shape)
    clipped = tuple(np.clip(place, 0, size - 1) for place, size in zip(places, array.shape, strict=True))
    return np.where(valid, array[clipped], fill)


def scatter(operation: Operation, array: Array, places: list[Array], valid: Array, data: Array) -> None:
    """Writes the valid elements; instances that write different values to one element are an error of the kernel."""
    data = data.astype(array.dtype)
    shape = np.broadcast_shapes(data.shape, valid.shape, *(place.shape for place in places))
    kept = None if valid.all() else np.broadcast_to(valid, shape)
    data = np.broadcast_to(data, shape)
    where = tuple(np.broadcast_to(place, shape) for place in places)
    if kept is not None:
        data = data[kept]
        where = tuple(place[kept] for place in where)
    if not places:
        array[()] = data.flat[-1] if data.size else array[()]
    else:
        array[where] = data
    if not _same(array[where] if places else array, data):
        raise refuse(
            operation,
            "instances of a parallel nest store different values to one element",
            "racing-stores",
            "give every instance elements of its own, or use a reduction",
        )


def _same(left: Array, right: Array) -> bool:
    same = left == right
    if left.dtype.kind == "f":
        same = same | (np.isnan(left) & np.isnan(right))
    return bool(np.all(same))


def outside(access: ViewAccess, places: list[Array], array: Array, wrong: Array) -> Exception:
    """The error of an access that promised to be in bounds."""
    shape = np.broadcast_shapes(wrong.shape, *(place.shape for place in places))
    first = tuple(np.argwhere(np.broadcast_to(wrong, shape))[0])
    index = tuple(int(np.broadcast_to(place, shape)[first]) for place in places)
    return refuse(
        access,
        f"index {index} is outside `{access.view.name}` of shape {array.shape}",
        "outside-view",
        "guard the access: bounds zero for a tile, a predicate for an element",
    )


def _compute(load: ViewAccess) -> np.dtype[np.generic]:
    element = known(element_of(load.view.type), load)
    return COMPUTE[element]


VIEWS: dict[Kind, Step] = {
    Kind.LOAD_TILE: load_tile,
    Kind.LOAD_ELEMENT: load_element,
    Kind.STORE_TILE: store_tile,
    Kind.STORE_ELEMENT: store_element,
}
