"""y = a x + b for positive x, -x otherwise, over any length: the last tile is ragged."""

from tilewright import tile
from tilewright.tile import f32

TILE = 64


@tile.kernel
def axpb(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", TILE)
    for p in tile.parallel(tile.cdiv(x.shape[0], TILE)):
        first = p.index() * TILE
        t = x[first, e]  # zero past the end
        y[first, e] = tile.where(t > 0.0, t * 1.25 - 0.5, -t)  # nothing is written past the end
