"""NVVM IR run on the CPU by LLVM, warp functions among 32 threads."""
