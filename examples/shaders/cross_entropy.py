"""Loss of each row against its label. The gather of the label's logit is guarded: a label outside the row costs 0."""

from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def cross_entropy(logits: tile.In[f32, 2], label: tile.In[f32, 1], loss: tile.Out[f32, 1]):
    one, n = tile.axis("one", 1), tile.axis("n", logits.shape[1])
    for row in tile.parallel(logits.shape[0]):
        r = row.index()
        wanted = tile.cast(label.elem(r).load(), tile.i64)
        known = (wanted >= 0) & (wanted < logits.shape[1])
        logit = logits.elem(r, wanted).load(known, 0.0)
        total = tile.log_sum_exp(logits[(r, 0), (one, n)], n)
        loss[r, one] = tile.where(known, total - logit, 0.0)
