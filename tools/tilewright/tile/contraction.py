"""Matrix multiply-accumulate by shared axes."""

from __future__ import annotations

from tilewright.tile.capture import Capture, current
from tilewright.tile.errors import fail
from tilewright.tile.generators import relabelled
from tilewright.tile.handles import Handle, Tile, operand
from tilewright.tileir.broadcast import contraction
from tilewright.tileir.dims import IndexSpace
from tilewright.tileir.graph import Value


def mma(a: Handle, b: Handle, accumulator: Handle, allow_reassociation: bool = True) -> Tile:
    """accumulator + the sum over the axes that a and b share and the accumulator lacks; axes of all three are batch.

    Rank-two tiles of plain extents, (M, K), (K, N) and (M, N), multiply as matrices. Without permission to
    reassociate every product is added in ascending order.
    """
    capture = current()
    values = [operand(capture, each, None) for each in (a, b, accumulator)]
    if contraction(a.space, b.space, accumulator.space) is None:
        values[:2] = _as_matrices(capture, a, b, accumulator.space)
    with capture.writing() as build:
        return Tile(capture, build.mma(*values, allow_reassociation=allow_reassociation))


def _as_matrices(capture: Capture, a: Handle, b: Handle, result: IndexSpace) -> list[Value]:
    spaces = (a.space, b.space, result)
    if any(space.rank != 2 for space in spaces) or (
        (a.shape[0], a.shape[1], b.shape[1]) != (result.shape[0], b.shape[0], result.shape[1])
    ):
        fail(
            f"mma of {a.space}, {b.space} and {result} is no valid contraction",
            rule="no-contraction",
            hint="a over (m, k), b over (k, n), the accumulator over (m, n), with the same axis objects",
        )
    inner = capture.module.dim("mma.k")
    rows, columns = result.axes
    left = IndexSpace.of((rows.dim, rows.extent), (inner, a.shape[1]))
    right = IndexSpace.of((inner, a.shape[1]), (columns.dim, columns.extent))
    return [relabelled(capture, a, left), relabelled(capture, b, right)]
