"""The readable text form of TileIR: printer and parser, each the other's inverse."""
