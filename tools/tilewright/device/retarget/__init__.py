"""LLVM IR of a stock stable rustc, compiled for the host, becomes NVVM IR; a module a step, `driver` runs them."""
