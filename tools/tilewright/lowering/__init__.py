"""Lowerings of TileIR, one package a backend. Each takes a verified function, never changes it, gives an artifact."""
