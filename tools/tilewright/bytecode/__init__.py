"""Tile IR bytecode, 13.5 public preview: the two modules of a tile library as bytes, as values and as text."""
