"""CUDA C++ compiled for the CPU and run there, the lanes of a warp in lockstep."""
