"""Kernels of the Metal forms beside the shared ones: native matrix products, rows with an explicit scope."""

from __future__ import annotations

from tilewright import tile
from tilewright.tile import f32
from tilewright.tileir.graph import Function


def native_gemm(
    shape: tuple[int, int, int],
    block: tuple[int, int],
    *,
    cohort: tuple[int, int] | None = None,
    flips: tuple[bool, bool] = (False, False),
    flipped_result: bool = False,
    scope: str | None = "group",
    start: float = 0.0,
    ordered: bool = False,
    name: str = "gemm",
) -> Function:
    """C = op(A) op(B), or its transpose, with the complete K as one tile, by groups, or by a cohort of subgroups."""
    (rows, columns, depth), (bm, bn) = shape, block
    trans_a, trans_b = flips
    sm, sn = cohort or (1, 1)

    @tile.kernel(name=name)
    def gemm(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        gm, gn = tile.axis("gm", tile.cdiv(rows, bm * sm)), tile.axis("gn", tile.cdiv(columns, bn * sn))
        hm, hn = tile.axis("hm", sm), tile.axis("hn", sn)
        m, n, k = tile.axis("m", bm), tile.axis("n", bn), tile.axis("k", depth)

        def product(r, s):
            ta = a[(0, r), (k, m)] if trans_a else a[(r, 0), (m, k)]
            tb = b[(s, 0), (n, k)] if trans_b else b[(0, s), (k, n)]
            at, dims = ((s, r), (n, m)) if flipped_result else ((r, s), (m, n))
            c[at, dims] = tile.mma(ta, tb, tile.full(dims, start), allow_reassociation=not ordered)

        for p in tile.parallel(gm, gn, scope=scope):
            if cohort is None:
                product(p[gm] * bm, p[gn] * bn)
                continue
            for q in p.parallel(hm, hn, scope="subgroup"):
                product((p[gm] * sm + q[hm]) * bm, (p[gn] * sn + q[hn]) * bn)

    a = (depth, rows) if trans_a else (rows, depth)
    b = (columns, depth) if trans_b else (depth, columns)
    return gemm.capture(a, b, (columns, rows) if flipped_result else (rows, columns)).function


def two_products() -> Function:
    """C = A B by the whole group, D = A B' by a cohort of two: one kernel, both maps."""

    @tile.kernel
    def both(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2], d: tile.Out[f32, 2]):
        m, n, k = tile.axis("m", 16), tile.axis("n", 16), tile.axis("k", 20)
        half = tile.axis("half", 8)
        for p in tile.parallel(2, scope="group"):
            r = p.index() * 16
            c[(r, 0), (m, n)] = tile.mma(a[(r, 0), (m, k)], b[(0, 0), (k, n)], tile.zeros((m, n)))
            for q in p.parallel(2, scope="subgroup"):
                s = r + q.index() * 8
                d[(s, 0), (half, n)] = tile.mma(a[(s, 0), (half, k)], b[(0, 0), (k, n)], tile.zeros((half, n)))

    return both.capture((30, 20), (20, 16), (30, 16), (30, 16)).function


def row_sum(rows: int, columns: int, scope: str | None = None) -> Function:
    """The sum of each row, its root bound to a scope."""

    @tile.kernel
    def row_sum(x: tile.In[f32, 2], y: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", columns)
        for row in tile.parallel(rows, scope=scope):
            y[row.index(), one] = tile.sum(x[(row.index(), 0), (one, n)], n)

    return row_sum.capture((rows, columns), (rows,)).function


def label_gather(rows: int, columns: int, *, forwarded: bool, scope: str | None = None) -> Function:
    """exp(x - max) / sum, times the element at a label: of the input view when `forwarded`, else of the exp tile."""

    @tile.kernel
    def picked(x: tile.In[f32, 2], label: tile.In[tile.i32, 1], y: tile.Out[f32, 2]):
        one, n = tile.axis("one", 1), tile.axis("n", columns)
        for row in tile.parallel(rows, scope=scope):
            r = row.index()
            at = (r, 0)
            v = x[at, (one, n)]
            powers = tile.exp(v - tile.max(v, n))
            index = tile.cast(label.elem(r).load(), tile.i64)
            other = v.at(0, index) if forwarded else powers.at(0, index)
            y[at, (one, n)] = powers / tile.sum(powers, n) * other

    return picked.capture((rows, columns), (rows,), (rows, columns)).function


def striped_loss(rows: int, columns: int, scope: str | None = None) -> Function:
    """A cross-entropy that takes the wanted class from the tile of powers, which belongs to many workers."""

    @tile.kernel
    def loss(x: tile.In[f32, 2], label: tile.In[tile.i32, 1], y: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", columns)
        for row in tile.parallel(rows, scope=scope):
            r = row.index()
            v = x[(r, 0), (one, n)]
            powers = tile.exp(v - tile.max(v, n))
            wanted = powers.at(0, tile.cast(label.elem(r).load(), tile.i64))
            y[r, one] = tile.log(tile.sum(powers, n)) - tile.log(wanted)

    return loss.capture((rows, columns), (rows,), (rows,)).function


def tiled_rows(rows: int, a: int, b: int) -> Function:
    """Softmax over both axes of an a x b block a program: a domain of two axes."""

    @tile.kernel
    def blocks(x: tile.In[f32, 3], y: tile.Out[f32, 3]):
        one, p, q = tile.axis("one", 1), tile.axis("p", a), tile.axis("q", b)
        for row in tile.parallel(rows):
            at = (row.index(), 0, 0)
            v = x[at, (one, p, q)]
            powers = tile.exp(v - tile.reduce(v, (p, q), tile.MAXIMUM))
            y[at, (one, p, q)] = powers / tile.reduce(powers, (p, q), tile.ADD)

    return blocks.capture((rows, a, b), (rows, a, b)).function


def counted_rows(rows: int, columns: int) -> Function:
    """The sum of 3 x + 60 of each row by a long chain of integer tiles, which is cut by a stored one."""

    @tile.kernel
    def counted(x: tile.In[f32, 2], y: tile.Out[f32, 1]):
        one, n = tile.axis("one", 1), tile.axis("n", columns)
        for row in tile.parallel(rows):
            value = tile.cast(x[(row.index(), 0), (one, n)] * 3.0, tile.i64)
            for _ in range(60):
                value = value + 1
            y[row.index(), one] = tile.sum(tile.cast(value, f32), n)

    return counted.capture((rows, columns), (rows,)).function
