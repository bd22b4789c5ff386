"""The Rust front end: `#[tile_export(...)]` on ordinary functions, compiled by a stock stable rustc."""
