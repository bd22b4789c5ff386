"""Softmax of each row, written out; `tile.softmax` is the same in one call."""

from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def softmax(x: tile.In[f32, 2], y: tile.Out[f32, 2]):
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        v = x[at, (one, n)]
        e = tile.exp(v - tile.max(v, n))
        y[at, (one, n)] = e / tile.sum(e, n)
