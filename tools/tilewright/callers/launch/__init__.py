"""A small launcher for kernels in cubins. Runs with NumPy and cuda-bindings alone."""
