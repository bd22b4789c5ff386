"""Execution nests and what stands in them: the hierarchy that launch geometry is derived from."""

from __future__ import annotations

from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Operation, Value
from tilewright.tileir.vocabulary import Kind


class Nest(Operation):
    """What the four nests share: a domain and a body whose first `rank` arguments are its coordinates."""

    @property
    def space(self) -> IndexSpace:
        assert self.domain is not None, self  # noqa: S101
        return self.domain

    @property
    def coordinates(self) -> list[Value]:
        return self.body.arguments[: self.space.rank]


class Parallel(Nest):
    """`parallel [domain] [scope s] { ^(%i: index, ...) ... }`: independent instances, carries nothing."""

    kind = Kind.PARALLEL


class OrderedNest(Nest):
    """Runs its flattened domain in order, last axis fastest, and carries values.

    Operand i is the initial value, body argument rank+i the current one, operand i of the final yield the next one,
    result i the last one. All carries update at once; without a trip the results are the initial values.
    """

    @property
    def initial(self) -> tuple[Value, ...]:
        return self.operands

    @property
    def carried(self) -> list[Value]:
        return self.body.arguments[self.space.rank :]

    @property
    def yielded(self) -> tuple[Value, ...]:
        """The next values of the carries; empty when nothing is carried."""
        return self.body.operations[-1].operands if self.results else ()


class Serial(OrderedNest):
    """`serial(initial...) [domain] : types { ... }`."""

    kind = Kind.SERIAL


class Pipeline(OrderedNest):
    """`pipeline(initial...) [domain] {stages = 2, initiation_interval = 1} : types { ... }`; the window is a wish."""

    kind = Kind.PIPELINE

    @property
    def stages(self) -> int:
        """How many stages were asked for; 0 = unspecified."""
        return int(self.attributes["stages"])

    @property
    def initiation_interval(self) -> int:
        return int(self.attributes["initiation_interval"])


class Reduce(OrderedNest):
    """`reduce(initial...) [domain] : types { ... }`: an ordered fold."""

    kind = Kind.REDUCE


class Stage(Operation):
    """`stage() {name = "load"}`: a lexical phase cut, directly in the body of a pipeline."""

    kind = Kind.STAGE


class Yield(Operation):
    """`yield(value...)`: last in a block; one operand a result of the parent, one scalar for tile.map.

    An ordered nest without carries and a `parallel` need none.
    """

    kind = Kind.YIELD


class Custom(Operation):
    """`custom(...) {name = "..."}`: an extension with unknown effect; every lowering refuses it."""

    kind = Kind.CUSTOM


OPERATIONS = (Parallel, Serial, Pipeline, Reduce, Stage, Yield, Custom)
