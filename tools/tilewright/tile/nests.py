"""Execution nests: `for` loops over one-shot ranges whose body is captured once."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tilewright.tile.axes import Axis, checked_extent
from tilewright.tile.capture import Frame, current
from tilewright.tile.errors import fail
from tilewright.tile.handles import Scalar
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Attribute
from tilewright.tileir.ops import BY_KIND
from tilewright.tileir.types import INDEX
from tilewright.tileir.vocabulary import Kind, Scope


class Progress(Enum):
    """A nest runs once."""

    WAITING = 0
    OPEN = 1
    ENDED = 2


class Nest:
    """`for p in nest:` captures the body once; `p[axis]` and `p.index()` are its coordinates.

    Made by `tile.parallel` and its like, or as a child, `p.serial(...)`, of the innermost open nest `p`.
    """

    def __init__(
        self,
        kind: Kind,
        shape: tuple[object, ...],
        *,
        parent: Nest | None = None,
        scope: Scope | None = None,
        attributes: dict[str, Attribute] | None = None,
    ) -> None:
        self.capture = current()
        self.kind = kind
        self.parent = parent
        self._check_parent()
        self.axes = nest_axes(kind, shape)
        self.frame: Frame | None = None
        self.progress = Progress.WAITING
        self._scope = scope
        self._attributes = attributes or {}

    def __iter__(self) -> Iterator[Nest]:
        if self.progress is not Progress.WAITING:
            fail("a nest runs once", rule="nest-run-twice", hint="make a new one for a second loop")
        self._check_parent()
        frame = self._enter()
        try:
            yield self
        except GeneratorExit:
            self.capture.abandoned = frame
            raise
        self.capture.close(frame)
        self.progress = Progress.ENDED

    def _check_parent(self) -> None:
        if self.parent is not None and self.capture.frame is not self.parent.frame:
            fail(
                "a child nest needs its active parent nest, the innermost open one",
                rule="inactive-parent",
                hint="call tile.parallel, tile.serial, ...: they nest in the innermost open one",
            )

    def _enter(self) -> Frame:
        capture = self.capture
        with capture.writing() as build:
            domain = IndexSpace.of(*((capture.dim(axis), axis.extent) for axis in self.axes))
            operation = BY_KIND[self.kind](
                capture.function,
                domain=domain,
                scope=self._scope,
                attributes=self._attributes,
                regions=1,
                place=build.place,
            )
            build.insert(operation)
            coordinates = {axis: operation.body.add_argument(INDEX, axis.name) for axis in self.axes}
        self.frame = capture.open(operation, operation.body)
        self.frame.coordinates = coordinates
        self.progress = Progress.OPEN
        return self.frame

    def index(self, axis: Axis | None = None) -> Scalar:
        """The coordinate along an axis of this nest or one around it; without an axis the nest has to be rank-one."""
        if axis is None:
            if len(self.axes) != 1:
                fail(
                    f"index() without an axis needs a rank-one nest; this one has rank {len(self.axes)}",
                    rule="index-without-axis",
                    hint="name the axes: gm, gn = tile.axis(...), tile.axis(...), then p[gm]",
                )
            axis = self.axes[0]
        frames = self.capture.frames
        if self.frame is None or self.frame not in frames:
            fail("the nest is not open: coordinates exist in its body only", rule="nest-not-open")
        around = reversed(frames[: frames.index(self.frame) + 1])
        coordinate = next((frame.coordinates[axis] for frame in around if axis in frame.coordinates), None)
        if coordinate is None:
            fail(f"the hierarchy does not define a coordinate for {axis!r}", rule="unknown-coordinate")
        return Scalar(self.capture, coordinate)

    def __getitem__(self, axis: Axis) -> Scalar:
        return self.index(axis)

    def stage(self, name: str) -> None:
        """Cuts the body of a pipeline into phases; what follows belongs to the phase of that name."""
        if self.kind is not Kind.PIPELINE or self.frame is None or self.capture.frame is not self.frame:
            fail(
                "stage() belongs directly in the body of the active pipeline nest",
                rule="stage-outside-pipeline",
                hint='for step in tile.pipeline(n): step.stage("load"); ...',
            )
        with self.capture.writing() as build:
            build.stage(name)

    def parallel(self, *shape: object, scope: str | None = None) -> Nest:
        """A parallel nest inside this one."""
        return Nest(Kind.PARALLEL, shape, parent=self, scope=execution_scope(scope))

    def serial(self, *shape: object) -> Nest:
        """A serial nest inside this one."""
        return Nest(Kind.SERIAL, shape, parent=self)

    def reduce(self, *shape: object) -> Nest:
        """A reduce nest inside this one."""
        return Nest(Kind.REDUCE, shape, parent=self)

    def pipeline(self, *shape: object, stages: int = 0, ii: int = 1) -> Nest:
        """A pipeline nest inside this one."""
        return Nest(Kind.PIPELINE, shape, parent=self, attributes={"stages": stages, "initiation_interval": ii})


def parallel(*shape: object, scope: str | None = None) -> Nest:
    """Independent instances over axes or extents; `scope` is device, group, subgroup, worker, vector or automatic."""
    return Nest(Kind.PARALLEL, shape, scope=execution_scope(scope))


def serial(*shape: object) -> Nest:
    """An ordered loop; cells set in its body are carried."""
    return Nest(Kind.SERIAL, shape)


def reduce_nest(*shape: object) -> Nest:
    """An ordered fold, as a loop; cells set in its body are carried."""
    return Nest(Kind.REDUCE, shape)


def pipeline(*shape: object, stages: int = 0, ii: int = 1) -> Nest:
    """An ordered loop that may overlap its phases: `stages` (0 = unspecified) and `ii` are requests."""
    return Nest(Kind.PIPELINE, shape, attributes={"stages": stages, "initiation_interval": ii})


def nest_axes(kind: Kind, shape: tuple[object, ...]) -> tuple[Axis, ...]:
    """The axes of a nest; a plain extent gets an axis of its own."""
    items = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    if not items:
        fail("a nest needs a non-empty shape", rule="empty-nest-shape", hint=f"tile.{kind.value}(tile.cdiv(n, 64))")
    stem = kind.value[0]
    axes = tuple(
        item if isinstance(item, Axis) else Axis(f"{stem}{place}", checked_extent(item))
        for place, item in enumerate(items)
    )
    if len(set(axes)) != len(axes):
        fail(f"an axis stands twice in the shape of a nest: {axes}", rule="axis-repeated")
    return axes


def execution_scope(name: str | None) -> Scope | None:
    """The scope of that name; None is automatic."""
    scopes = {scope.value: scope for scope in Scope}
    if name is not None and name not in scopes:
        fail(f"scope {name!r} is not one of {', '.join(scopes)}", rule="unknown-scope")
    return None if name is None else scopes[name]
