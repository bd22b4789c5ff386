"""C = A B with the complete K as one tile: what Metal's own matrix product takes."""

from tilewright import tile
from tilewright.tile import f32

ROWS, COLUMNS = 64, 32


@tile.kernel
def native_gemm(a: tile.In[f32, 2], b: tile.In[f32, 2], c: tile.Out[f32, 2]):
    rows, columns = c.shape
    gm, gn = tile.axis("gm", tile.cdiv(rows, ROWS)), tile.axis("gn", tile.cdiv(columns, COLUMNS))
    m, n, k = tile.axis("m", ROWS), tile.axis("n", COLUMNS), tile.axis("k", a.shape[1])
    for p in tile.parallel(gm, gn):
        r, s = p[gm] * ROWS, p[gn] * COLUMNS
        c[(r, s), (m, n)] = tile.mma(a[(r, 0), (m, k)], b[(0, s), (k, n)], tile.zeros((m, n)))
