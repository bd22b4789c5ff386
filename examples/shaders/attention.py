"""Causal attention with an online softmax, a composition of the library; several query heads share a key head."""

from tilewright import tile

attention = tile.attention(query_tile=4, key_tile=32, causal=True)
