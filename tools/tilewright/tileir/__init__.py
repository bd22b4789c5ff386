"""Typed TileIR: dims by identity, types, operations, verifier, text form, FP64 interpreter. Knows no backend."""
