"""Compiles and runs MSL on the CPU. Its evidence is labelled "MSL, CPU-emulated": this is not Apple's compiler."""
