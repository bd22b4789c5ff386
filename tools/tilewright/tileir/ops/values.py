"""Operations on values: constants, element-wise arithmetic, generators, element reads, contraction."""

from __future__ import annotations

from tilewright.tileir.graph import Attribute, Operation, Value
from tilewright.tileir.vocabulary import Kind, Opcode


class Constant(Operation):
    """`constant {value = v} : type`: no operands, at least one scalar or tile result; splat for tiles."""

    kind = Kind.CONSTANT

    @property
    def value(self) -> Attribute:
        return self.attributes["value"]


class Elementwise(Operation):
    """`add(a, b) : type`: pointwise, tiles broadcast by dim identity, scalars to every element.

    Integer DIV and MOD truncate (-7 / 2 = -3, -7 % 2 = -1); MIN and MAX drop a NaN operand, as fmin and fmax do.
    SELECT takes (condition, if_true, if_false). A cast from float to integer truncates.
    """

    kind = Kind.ELEMENTWISE

    @property
    def code(self) -> Opcode:
        """The opcode; `Operation.opcode` is Optional because other kinds have none."""
        assert self.opcode is not None, self  # noqa: S101
        return self.opcode


class TileMap(Operation):
    """`tile.map() [domain] : tile { ^(%i: index, ...): ... yield(%scalar) }`: a pure generator, one index an axis."""

    kind = Kind.TILE_MAP

    @property
    def coordinates(self) -> list[Value]:
        return self.body.arguments

    @property
    def element(self) -> Value:
        """The scalar that the body yields."""
        return self.body.operations[-1].operands[0]


class Extract(Operation):
    """`tile.extract(tile, index...) : scalar`: dynamic read of one element, indices relative to the tile."""

    kind = Kind.EXTRACT

    @property
    def tile(self) -> Value:
        return self.operands[0]

    @property
    def indices(self) -> tuple[Value, ...]:
        return self.operands[1:]


class Mma(Operation):
    """`mma(a, b, c) {allow_reassociation = true} : type(c)`: c plus the contraction over dims in a and b, not in c.

    Dims of all three are batch dims. Without permission to reassociate, the sum runs in ascending order from c.
    """

    kind = Kind.MMA

    @property
    def a(self) -> Value:
        return self.operands[0]

    @property
    def b(self) -> Value:
        return self.operands[1]

    @property
    def c(self) -> Value:
        return self.operands[2]

    @property
    def allow_reassociation(self) -> bool:
        return bool(self.attributes["allow_reassociation"])


OPERATIONS = (Constant, Elementwise, TileMap, Extract, Mma)
