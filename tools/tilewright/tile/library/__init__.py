"""Compositions over the DSL: rows (softmax, norms), activations, rotary embedding, online attention."""
