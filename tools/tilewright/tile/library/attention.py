"""Attention with an online softmax: one pass over tiles of keys, three cells a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

from tilewright.tile.annotations import In, Out
from tilewright.tile.arithmetic import exp, maximum, where
from tilewright.tile.axes import Axis, axis, cdiv, f32
from tilewright.tile.contraction import mma
from tilewright.tile.errors import fail
from tilewright.tile.generators import full, iota, max, sum, zeros
from tilewright.tile.handles import Handle, Scalar, Tile, var
from tilewright.tile.kernel import KernelDefinition, kernel
from tilewright.tile.nests import Nest, parallel
from tilewright.tile.views import View

MASKED = -1e30
"""Score of a hidden key; finite, so that a tile with hidden keys only gives no NaN."""


def online_attention(
    nest: Nest,
    query: Handle,
    load_key: Callable[[Scalar], Tile],
    load_value: Callable[[Scalar], Tile],
    *,
    rows: tuple[Axis, ...],
    key: Axis,
    value: Axis,
    tiles: int,
    scale: float,
    visible: Callable[[Scalar], Handle] | None = None,
) -> Handle:
    """softmax(query key^T * scale) value over `rows` and `value`, in `tiles` ordered steps of one tile of keys.

    `load_key(step)` lies over the depth of the query and `key`, `load_value(step)` over `key` and `value`;
    `visible(step)` is a bool tile over rows and keys. In the first tile every row has to see a key.
    """
    top = var(full(rows, MASKED))
    total = var(zeros(rows))
    result = var(zeros((*rows, value)))
    for loop in nest.serial(tiles):
        step = loop.index()
        scores = mma(query, load_key(step), zeros((*rows, key))) * scale
        if visible is not None:
            scores = where(visible(step), scores, MASKED)
        higher = maximum(top, max(scores, key))
        weights = exp(scores - higher)
        fade = exp(top - higher)
        result.set(mma(weights, load_value(step), result * fade))
        total.set(total * fade + sum(weights, key))
        top.set(higher)
    return result / total


def attention(query_tile: int, key_tile: int, *, causal: bool = True, name: str = "attention") -> KernelDefinition:
    """A kernel over q (B, Hq, Q, D), k (B, Hkv, K, D), v (B, Hkv, K, Dv), out (B, Hq, Q, Dv); scale 1/sqrt(D).

    One program a tile of queries. The queries are the last Q of the K positions: Q = K is a prefill, Q = 1 a decode.
    Several query heads share a key head when Hq is a multiple of Hkv. Causal: a query sees the keys up to its own.
    """

    @kernel(name=name)
    def body(
        q: Annotated[View, In[f32, 4]],
        k: Annotated[View, In[f32, 4]],
        v: Annotated[View, In[f32, 4]],
        out: Annotated[View, Out[f32, 4]],
    ) -> None:
        batches, heads, queries, depth = q.shape
        _, key_heads, keys, value_depth = v.shape
        if key_heads == 0 or heads % key_heads:
            fail(f"{heads} query heads cannot share {key_heads} key heads", rule="attention-heads")
        one_batch, one_head = axis("b", 1), axis("h", 1)
        row, column = axis("q", query_tile), axis("k", key_tile)
        d, e = axis("d", depth), axis("e", value_depth)
        grid = axis("batch", batches), axis("head", heads), axis("block", cdiv(queries, query_tile))
        for program in parallel(grid):
            batch, head = program[grid[0]], program[grid[1]]
            shared = head // (heads // key_heads)
            first = program[grid[2]] * query_tile

            def position(step: Scalar) -> Handle:
                return iota(column) + step * key_tile

            def visible(step: Scalar, first: Handle = first) -> Handle:
                known = position(step) < keys
                if not causal:
                    return known
                return known & (position(step) <= iota(row) + first + (keys - queries))

            def load(view: View, last: Axis, step: Scalar, batch: Handle = batch, shared: Handle = shared) -> Tile:
                return view[(batch, shared, step * key_tile, 0), (one_batch, one_head, column, last)]

            out[(batch, head, first, 0), (one_batch, one_head, row, e)] = online_attention(
                program,
                q[(batch, head, first, 0), (one_batch, one_head, row, d)],
                lambda step: load(k, d, step),
                lambda step: load(v, e, step),
                rows=(one_batch, one_head, row),
                key=column,
                value=e,
                tiles=cdiv(keys, key_tile),
                scale=1.0 / math.sqrt(depth),
                visible=visible,
            )

    return body
