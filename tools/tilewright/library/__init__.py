"""Tile libraries: packing, publishing, cross-checking, and reading a `.tilelib` back."""
