"""RMS norm and layer norm of each row: two kernels in one file."""

from tilewright import tile
from tilewright.tile import f32


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
