"""C = A B, with either factor stored transposed: a transposed load is a load over the axes in the other order."""

from tilewright import tile
from tilewright.tile import f32


def gemm(name, trans_a=False, trans_b=False, tile_rows=16, tile_columns=16, tile_depth=32):
    """The kernel of one pair of transposes; the arguments are specialisations, like the shapes."""

    @tile.kernel(name=name)
    def body(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
        depth = a.shape[0] if trans_a else a.shape[1]
        rows, columns = c.shape
        gm, gn = tile.axis("gm", tile.cdiv(rows, tile_rows)), tile.axis("gn", tile.cdiv(columns, tile_columns))
        m, n, k = tile.axis("m", tile_rows), tile.axis("n", tile_columns), tile.axis("k", tile_depth)
        for p in tile.parallel(gm, gn):
            r, s = p[gm] * tile_rows, p[gn] * tile_columns
            acc = tile.var(tile.zeros((m, n)))
            for step in p.pipeline(tile.cdiv(depth, tile_depth), stages=2):
                q = step.index() * tile_depth
                step.stage("load")
                left = a[(q, r), (k, m)] if trans_a else a[(r, q), (m, k)]
                right = b[(s, q), (n, k)] if trans_b else b[(q, s), (k, n)]
                step.stage("compute")
                acc.set(tile.mma(left, right, acc))
            c[(r, s), (m, n)] = acc

    return body
