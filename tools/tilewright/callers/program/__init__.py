"""Tile C++ programs and cubins compiled against tile libraries."""
