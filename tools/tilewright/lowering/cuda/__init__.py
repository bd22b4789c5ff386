"""TileIR to CUDA C: one logical program a thread, everything else ordinary loops. `lower.lower` is the way in."""
