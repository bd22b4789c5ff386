"""Kernels written with the DSL, as a user would; used by several tests."""

from __future__ import annotations

from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def axpb(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", 64)
    for p in tile.parallel(tile.cdiv(x.shape[0], 64)):
        o = p.index() * 64
        t = x[o, e]
        y[o, e] = tile.where(t > 0.0, t * 1.25 - 0.5, -t)


@tile.kernel
def row_sum(x: tile.In[f32, 2], y: tile.Out[f32, 1]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        y[row.index(), one] = tile.sum(x[(row.index(), 0), (one, n)], n)


@tile.kernel
def row_extrema(x: tile.In[f32, 2], low: tile.Out[f32, 1], high: tile.Out[f32, 1]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        v = x[(row.index(), 0), (one, n)]
        low[row.index(), one] = tile.min(v, n)
        high[row.index(), one] = tile.max(v, n)


@tile.kernel
def softmax(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.softmax(x[at, (one, n)], n)


@tile.kernel
def masked_softmax(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        mask = tile.iota(n) <= row.index() % x.shape[1]
        y[at, (one, n)] = tile.softmax(x[at, (one, n)], n, mask=mask)


@tile.kernel
def rms_norm(x: tile.In[f32, 2], weight: tile.In[f32, 1], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.rms_norm(x[at, (one, n)], weight[0, n], n)


@tile.kernel
def layer_norm(x: tile.In[f32, 2], weight: tile.In[f32, 1], bias: tile.In[f32, 1], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.layer_norm(x[at, (one, n)], weight[0, n], bias[0, n], n)


@tile.kernel
def swiglu(gate: tile.In[f32, 2], up: tile.In[f32, 2], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", gate.shape[1])
    for row in tile.parallel(gate.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.swiglu(gate[at, (one, n)], up[at, (one, n)])


@tile.kernel
def gelu_residual(x: tile.In[f32, 2], residual: tile.In[f32, 2], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.gelu(x[at, (one, n)]) + residual[at, (one, n)]


@tile.kernel
def rope(x: tile.In[f32, 2], cosine: tile.In[f32, 2], sine: tile.In[f32, 2], y: tile.Out[f32, 2]):
    half = x.shape[1] // 2
    one, n = tile.axis("one", 1), tile.axis("n", half)
    for row in tile.parallel(x.shape[0]):
        low, high = (row.index(), 0), (row.index(), half)
        table = cosine[low, (one, n)], sine[low, (one, n)]
        y[low, (one, n)], y[high, (one, n)] = tile.rope(x[low, (one, n)], x[high, (one, n)], *table)


@tile.kernel
def cross_entropy(x: tile.In[f32, 2], label: tile.In[tile.i32, 1], loss: tile.Out[f32, 1]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        r = row.index()
        wanted = tile.cast(label.elem(r).load(), tile.i64)
        known = (wanted >= 0) & (wanted < x.shape[1])
        logit = x.elem(r, wanted).load(known, 0.0)
        total = tile.log_sum_exp(x[(r, 0), (one, n)], n)
        loss[r, one] = tile.where(known, total - logit, 0.0)


def make_gemm(bm, bn, bk, trans_a=False, trans_b=False, start=0.0, ordered=False, pipelined=True):
    @tile.kernel
    def gemm(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        rows, depth = a.shape[::-1] if trans_a else a.shape
        columns = b.shape[0] if trans_b else b.shape[1]
        gm, gn = tile.axis("gm", tile.cdiv(rows, bm)), tile.axis("gn", tile.cdiv(columns, bn))
        m, n, k = tile.axis("m", bm), tile.axis("n", bn), tile.axis("k", bk)
        for p in tile.parallel(gm, gn):
            r, s = p[gm] * bm, p[gn] * bn
            acc = tile.var(tile.full((m, n), start))
            steps = tile.cdiv(depth, bk)
            for step in p.pipeline(steps, stages=2) if pipelined else p.serial(steps):
                q = step.index() * bk
                if pipelined:
                    step.stage("load")
                ta = a[(q, r), (k, m)] if trans_a else a[(r, q), (m, k)]
                tb = b[(s, q), (n, k)] if trans_b else b[(q, s), (k, n)]
                if pipelined:
                    step.stage("compute")
                acc.set(tile.mma(ta, tb, acc, allow_reassociation=not ordered))
            c[(r, s), (m, n)] = acc

    return gemm


def make_batched_gemm(tile_rows):
    @tile.kernel
    def batched(a: tile.In[f32, 3], b: tile.In[f32, 3], c: tile.Out[f32, 3]):
        batches, rows, depth = a.shape
        one, m = tile.axis("one", 1), tile.axis("m", tile_rows)
        n, k = tile.axis("n", b.shape[2]), tile.axis("k", depth)
        g, h = tile.axis("g", batches), tile.axis("h", tile.cdiv(rows, tile_rows))
        for p in tile.parallel(g, h):
            row = p[h] * tile_rows
            left, right = a[(p[g], row, 0), (one, m, k)], b[(p[g], 0, 0), (one, k, n)]
            c[(p[g], row, 0), (one, m, n)] = tile.mma(left, right, tile.zeros((one, m, n)))

    return batched


def make_recurrence(trips, pipelined):
    @tile.kernel
    def recurrence(x: tile.InOut[f32, 1], y: tile.Out[f32, 1]):
        one = tile.axis("one", 1)
        for p in tile.parallel(x.shape[0]):
            first = x[p.index(), one]
            x[p.index(), one] = 17.0
            a, b = tile.var(first), tile.var(tile.full(one, 1.0))
            for _ in tile.pipeline(trips) if pipelined else tile.serial(trips):
                following = a + b
                a.set(b)
                b.set(following)
            y[p.index(), one] = a

    return recurrence
