"""Selecting atoms: realization records that hold the loads, the product and the store they stand for.

Nothing is rewritten and no form is relabelled; a record only says what one matmul2d does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from tilewright.lowering.metal.emission import tile_space
from tilewright.lowering.metal.function_checks import fault
from tilewright.lowering.metal.mpp.coordinates import Coordinates
from tilewright.lowering.metal.msl import INT
from tilewright.lowering.metal.scalars import Scalar
from tilewright.problem import Problem
from tilewright.tileir.broadcast import Contraction, contraction
from tilewright.tileir.graph import Function, Operation, Value
from tilewright.tileir.ops.nests import Parallel
from tilewright.tileir.ops.values import Constant, Mma
from tilewright.tileir.ops.views import LoadTile, StoreTile
from tilewright.tileir.vocabulary import Kind

ROWS_OR_COLUMNS = 8
ONE_OF_THEM = 16


@dataclass(frozen=True, slots=True)
class Atom:
    """One matmul2d: `rows` x `columns` of the stored result from the complete `depth`, at an origin, by a group or one
    subgroup. `left` brings the rows: for a result of (n, m) it is the second operand of the product, as the transpose
    of A B is that of B times that of A. So every matrix is read and written row-major, in each of the eight
    orientations of operands and result.
    """

    store: StoreTile
    product: Mma
    left: LoadTile
    right: LoadTile
    by_subgroup: bool
    rows: int
    columns: int
    depth: int
    transpose_left: bool
    transpose_right: bool
    origin: tuple[Scalar, Scalar]


@dataclass(frozen=True, slots=True)
class Selection:
    """Atoms in the order of the program, and the cohort's subgroups (0: no explicit child)."""

    atoms: tuple[Atom, ...]
    subgroups: int


class Selector:
    """One walk over the body of the root."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.coordinates = Coordinates(function)
        self.problems: list[Problem] = []
        self.atoms: list[Atom] = []
        self.subgroups = 0

    def block(self, operations: list[Operation], *, by_subgroup: bool) -> None:
        for operation in operations:
            match operation.kind:
                case Kind.CONSTANT | Kind.ELEMENTWISE:
                    self.coordinates.scalar(operation)
                case Kind.LOAD_TILE:
                    self.problems += operand_faults(self.function, cast(LoadTile, operation))
                case Kind.STORE_TILE:
                    self.store(cast(StoreTile, operation), by_subgroup=by_subgroup)
                case Kind.PARALLEL:
                    nest = cast(Parallel, operation)
                    self.subgroups = nest.space.static_volume() or 0
                    self.coordinates.enter(nest, "subgroup")
                    self.block(nest.body.operations, by_subgroup=True)
                case _:
                    pass

    def store(self, store: StoreTile, *, by_subgroup: bool) -> None:
        found = list(product_faults(self.function, store))
        self.problems += found
        if found:
            return
        product = cast(Mma, store.stored.definition)
        result = tile_space(store.stored)
        first, second = product.a, product.b
        if tile_space(first).position(result.dims[0]) is None:
            first, second = second, first
        left, right = cast(LoadTile, first.definition), cast(LoadTile, second.definition)
        (contracted,) = known_roles(product).contracted
        transpose_left = tile_space(first).dims[0] is contracted
        transpose_right = tile_space(second).dims[1] is contracted
        origin = self.origin(store, (left, 1 if transpose_left else 0), (right, 0 if transpose_right else 1))
        if origin is not None:
            rows, columns = result.shape
            depth = cast(int, tile_space(first).extent_of(contracted))
            self.atoms.append(
                Atom(
                    store,
                    product,
                    left,
                    right,
                    by_subgroup,
                    rows,
                    columns,
                    depth,
                    transpose_left,
                    transpose_right,
                    origin,
                )
            )

    def origin(
        self, store: StoreTile, left: tuple[LoadTile, int], right: tuple[LoadTile, int]
    ) -> tuple[Scalar, Scalar] | None:
        """B159, B161: row and column origin, which operands and result share, and a K that starts at 0."""
        found: list[Scalar] = []
        for axis, (load, free) in enumerate((left, right)):
            mine, theirs = (self.coordinates.of(each) for each in (store.origins[axis], load.origins[free]))
            inner = self.coordinates.of(load.origins[1 - free])
            if mine is None or theirs is None or inner is None:
                return None
            extents = tile_space(store.view).shape[axis], tile_space(load.view).shape[free]
            whole = tile_space(load.view).shape[1 - free]
            if inner.fixed != 0 or tile_space(load.result).shape[1 - free] != whole:
                what = f"`{load.view.name}` is read from {inner.text} along K, not the complete K of {whole}"
                self.refuse(what, "mpp-depth", "load the complete K as one tile; pipelines are not lowered", load)
            if mine.text != theirs.text or extents[0] != extents[1] or not within_int(mine):
                what = (
                    f"axis {axis} of the result starts at {mine.text} of {extents[0]}, the operand `{load.view.name}` "
                    f"at {theirs.text} of {extents[1]}: origins/bounds must agree and be nonnegative int32"
                )
                self.refuse(what, "mpp-origin", "load and store at the same origin", store)
            found.append(mine)
        return found[0], found[1]

    def refuse(self, what: str, rule: str, hint: str, operation: Operation) -> None:
        self.problems.append(fault(self.function, what, rule, hint, operation))


def select(function: Function, root: Parallel) -> Selection | list[Problem]:
    """The atoms of a function whose frame is legal, or every fault of its loads, products and stores."""
    selector = Selector(function)
    selector.coordinates.enter(root, "group")
    outside = [each for each in function.body.block.operations if each is not root]
    selector.block(outside, by_subgroup=False)
    selector.block(root.body.operations, by_subgroup=False)
    problems = selector.problems + selector.coordinates.problems
    return problems or Selection(tuple(selector.atoms), selector.subgroups)


def operand_faults(function: Function, load: LoadTile) -> Iterator[Problem]:
    """B155."""
    users = load.result.users
    product = len(users) == 1 and users[0].kind is Kind.MMA and load.result.uses[0].index < 2
    if (
        not product
        or users[0].parent is not load.parent
        or load.fill is not None
        or load.view not in function.parameters
    ):
        what = (
            f"a load of `{load.view.name}`: native MPP takes single-use argument loads that feed one product, zero fill"
        )
        yield fault(function, what, "mpp-operand", "load each operand once, for one mma in the same scope", load)


def product_faults(function: Function, store: StoreTile) -> Iterator[Problem]:
    """B156, B157, B158, B160."""
    product = store.stored.definition
    if (
        product is None
        or product.kind is not Kind.MMA
        or len(store.stored.uses) != 1
        or product.parent is not store.parent
    ):
        what = "a store takes a sole-use, same-scope product"
        yield fault(function, what, "mpp-store", "store the result of mma itself, once", store)
        return
    mma = cast(Mma, product)
    if any(each.definition is None or each.definition.kind is not Kind.LOAD_TILE for each in (mma.a, mma.b)):
        what = "an operand of the product is no single-use argument load"
        yield fault(function, what, "mpp-operand", "load each operand once, for one mma", mma)
        return
    if not is_zero(mma.c):
        what = "native MPP takes a zero initial accumulator"
        yield fault(function, what, "mpp-accumulator", "tile.mma(a, b, tile.zeros((m, n)))", mma)
    if not mma.allow_reassociation:
        what = "native MPP needs permitted reassociation; an ordered product is refused"
        yield fault(function, what, "mpp-ordered", "allow_reassociation=True, or the reference form", mma)
    shape = tile_space(mma.c).shape
    if any(each % ROWS_OR_COLUMNS for each in shape) or all(each % ONE_OF_THEM for each in shape):
        what = f"a tile of {shape[0]}x{shape[1]}: M and N are multiples of 8, one of them of 16"
        yield fault(function, what, "mpp-tile", "tiles of 32x32", mma)


def known_roles(product: Mma) -> Contraction:
    """The roles of the dims of a verified product of matrices: one row, one column, one contracted."""
    a, b, c = (tile_space(value) for value in product.operands)
    roles = contraction(a, b, c)
    assert roles is not None, product  # noqa: S101
    return roles


def is_zero(value: Value) -> bool:
    """A tile constant of +0.0."""
    definition = value.definition
    if definition is None or definition.kind is not Kind.CONSTANT:
        return False
    number = float(cast(Constant, definition).value)
    return number == 0.0 and math.copysign(1.0, number) > 0


def within_int(place: Scalar) -> bool:
    return place.interval[0] >= 0 and place.interval[1] <= INT[1]
