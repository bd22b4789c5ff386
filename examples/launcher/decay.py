"""y = a x in tiles, with the factor of a module of this folder."""

from factors import DECAY, TILE

from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def decay(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", TILE)
    for p in tile.parallel(tile.cdiv(x.shape[0], TILE)):
        first = p.index() * TILE
        y[first, e] = x[first, e] * DECAY
