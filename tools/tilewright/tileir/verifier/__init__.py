"""The rules every function of TileIR keeps, V1 to V25, one named check each. `verify.verify` applies them."""
