"""Down-conversion of LLVM 22 text to the typed-pointer dialect that libNVVM reads for compute_75 to compute_90."""
