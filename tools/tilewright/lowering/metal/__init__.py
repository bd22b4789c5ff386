"""TileIR to Metal: reference programs, SIMD-group row programs, native MPP GEMM. `lower.lower` is the way in."""
