"""Parameters of a kernel: external tensors with loads and stores at explicit origins."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

from tilewright.tile.capture import Capture, current
from tilewright.tile.errors import fail
from tilewright.tile.generators import conformed, filled
from tilewright.tile.handles import Handle, Operand, Scalar, Tile, operand
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Value
from tilewright.tileir.types import Element, element_of, space_of
from tilewright.tileir.vocabulary import Bounds, Kind

Origin: TypeAlias = Operand | Sequence[Operand]


class Access(Enum):
    """What a kernel may do with a parameter: read it, write it, or both."""

    IN = "In"
    OUT = "Out"
    INOUT = "InOut"


class View:
    """A tensor parameter. `x[origin, shape]` loads a tile, `x[origin, shape] = tile` stores one.

    Outside the tensor a load gives zeros and a store drops elements; `at` and `elem` offer the other ways.
    """

    def __init__(self, capture: Capture, value: Value, access: Access) -> None:
        self.capture = capture
        self.value = value
        self.access = access

    def __repr__(self) -> str:
        return f"<{self.access.value} {self.value.name}: {self.value.type}>"

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def element(self) -> Element:
        element = element_of(self.value.type)
        if element is None:
            raise AssertionError(self.value)
        return element

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, as Python integers."""
        space = space_of(self.value.type)
        return space.shape if space else ()

    def at(self, origin: Origin, shape: object, bounds: str = "zero", fill: Operand | None = None) -> Window:
        """The part of the tensor at an origin; `bounds` is `zero` or `assume`, `fill` what a load gives outside."""
        modes = {mode.value: mode for mode in Bounds}
        if bounds not in modes:
            fail(f"bounds {bounds!r} is not one of {', '.join(modes)}", rule="unknown-bounds")
        capture = self.reached()
        space = capture.space(shape)
        if space.rank != len(self.shape):
            fail(
                f"`{self.name}` has rank {len(self.shape)}, the shape {space} has rank {space.rank}",
                rule="view-rank",
                hint="one axis an axis of the tensor; an axis of extent 1 where it is fixed",
            )
        return Window(self, self.index(origin), space, modes[bounds], fill)

    def __getitem__(self, place: tuple[Origin, object]) -> Tile:
        return self.at(*self.place(place)).load()

    def __setitem__(self, place: tuple[Origin, object], tile: Operand) -> None:
        self.at(*self.place(place)).store(tile)

    def elem(self, *indices: Operand) -> ElementPlace:
        """One element of the tensor."""
        self.reached()
        return ElementPlace(self, self.index(indices))

    def place(self, place: object) -> tuple[Origin, object]:
        """Checks the subscript of a load or store: an origin and a shape."""
        if not isinstance(place, tuple) or len(place) != 2:
            fail(f"`{self.name}` takes [origin, shape]", rule="view-subscript", hint="x[(row, 0), (one, n)]")
        return place

    def index(self, origin: Origin) -> list[Value]:
        """One integer value an axis of the tensor."""
        capture = self.reached()
        items = tuple(origin) if isinstance(origin, tuple | list) else (origin,)
        if len(items) != len(self.shape):
            fail(f"`{self.name}` has rank {len(self.shape)}, the origin has {len(items)} indices", rule="view-rank")
        return [operand(capture, item, Element.I64) for item in items]

    def reached(self) -> Capture:
        """The capture in progress, which has to be that of this parameter."""
        capture = current()
        if capture is not self.capture:
            fail(f"foreign operand: `{self.name}` is a parameter of another kernel", rule="foreign-operand")
        return capture

    def check_access(self, kind: Kind) -> None:
        """Refuses what the declaration of the parameter does not allow, and effects inside a map."""
        writes = kind in (Kind.STORE_TILE, Kind.STORE_ELEMENT)
        if self.access is (Access.IN if writes else Access.OUT):
            word = "written" if writes else "read"
            fail(
                f"`{self.name}` is declared tile.{self.access.value} and cannot be {word}",
                rule="read-only-view" if writes else "write-only-view",
                hint=f"declare it tile.{'Out' if writes else 'In'} or tile.InOut",
            )
        operations = (frame.operation for frame in self.capture.frames)
        if any(each is not None and each.kind is Kind.TILE_MAP for each in operations):
            fail(
                "memory effect inside a tile.map; generators are pure", rule="effect-in-map", hint="load before the map"
            )


class Window:
    """A tile-shaped part of a tensor."""

    def __init__(
        self, view: View, origin: list[Value], space: IndexSpace, bounds: Bounds, fill: Operand | None
    ) -> None:
        self.view = view
        self.origin = origin
        self.space = space
        self.bounds = bounds
        self.fill = fill

    def load(self) -> Tile:
        """A snapshot of the part."""
        self.view.check_access(Kind.LOAD_TILE)
        capture = self.view.reached()
        fill = None if self.fill is None else operand(capture, self.fill, self.view.element)
        with capture.writing() as build:
            loaded = build.load(self.view.value, self.origin, self.space, fill=fill, bounds=self.bounds)
            return Tile(capture, loaded)

    def store(self, tile: Operand) -> None:
        """Writes a tile, brought to the axes of the part; a number fills it."""
        self.view.check_access(Kind.STORE_TILE)
        capture = self.view.reached()
        handle = tile if isinstance(tile, Handle) else filled(capture, self.space, tile, self.view.element)
        value = conformed(capture, handle, self.space)
        with capture.writing() as build:
            build.store(self.view.value, self.origin, value, bounds=self.bounds)


class ElementPlace:
    """One element of a tensor, in bounds by promise unless guarded."""

    def __init__(self, view: View, index: list[Value]) -> None:
        self.view = view
        self.index = index

    def load(self, predicate: Operand | None = None, fallback: Operand | None = None) -> Scalar:
        """The element; with a predicate, `fallback` where it is false, and memory is not touched there."""
        self.view.check_access(Kind.LOAD_ELEMENT)
        if (predicate is None) != (fallback is None):
            fail(
                "predicate and fallback belong together",
                rule="predicate-without-fallback",
                hint="x.elem(i).load(i < n, 0.0)",
            )
        capture = self.view.reached()
        condition = None if predicate is None else operand(capture, predicate, Element.BOOL)
        other = None if fallback is None else operand(capture, fallback, self.view.element)
        with capture.writing() as build:
            return Scalar(capture, build.load_element(self.view.value, self.index, condition, other))

    def store(self, value: Operand) -> None:
        """Writes the element."""
        self.view.check_access(Kind.STORE_ELEMENT)
        capture = self.view.reached()
        stored = operand(capture, value, self.view.element)
        with capture.writing() as build:
            build.store_element(self.view.value, self.index, stored)
