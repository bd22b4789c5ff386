"""FP64 interpreter of TileIR over NumPy: the oracle of every lowering. `run.evaluate` is the way in."""
