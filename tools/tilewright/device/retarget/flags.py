"""How `rustc` is called so that its LLVM IR can be retargeted."""

from __future__ import annotations

RUSTC_FLAGS = (
    "--emit=llvm-ir",
    "-Cpanic=abort",
    "-Copt-level=0",
    "-Cno-prepopulate-passes",
    "-Coverflow-checks=off",
    "-Cdebug-assertions=off",
    "-Cdebuginfo=0",
    "-Ccodegen-units=1",
    "-Csymbol-mangling-version=v0",
    "-Cforce-unwind-tables=no",
)
"""Flags without crate type, edition, source and output.

Level 0 is a matter of correctness: at every other level rustc's MIR passes know no convergence and copy a warp
shuffle into both sides of a branch.  At level 0 debug assertions must be turned off by name.
"""
