"""Compiles and runs MSL on the CPU. Evidence made with it is labelled "MSL, CPU-emulated": it is not Apple's compiler."""
