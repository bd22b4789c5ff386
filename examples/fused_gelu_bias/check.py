"""Launches fused_gelu_bias on matrices of several shapes and compares with NumPy in float64.

    python check.py build/sm_90/examples/fused_gelu_bias/fused_gelu_bias.cubin

Needs a GPU of the cubin's architecture, NumPy and cuda-bindings.
"""

import math
import sys
from pathlib import Path

import numpy as np

from tilewright.callers.launch.comparison import difference
from tilewright.callers.launch.device import launch, load_kernel, open_device
from tilewright.problem import ProblemError

SHAPES = ((8, 128), (256, 1024), (1, 1), (7, 127), (9, 129), (300, 77), (1000, 4097))
ROWS, COLUMNS = 8, 128
RTOL, ATOL = 2e-6, 2e-6
GUARD = 1024
"""Elements behind the matrix that must keep their value: a store past the edge would show there."""


def gelu(x):
    """In float64."""
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x * math.sqrt(0.5)))


def check(path: str) -> int:
    """One line a shape, then the count."""
    random = np.random.default_rng(5)
    passed = 0
    with open_device() as device, load_kernel(device, Path(path).read_bytes(), "fused_gelu_bias", path) as kernel:
        print(f"{device.name} ({device.architecture}), {path}")
        for rows, columns in SHAPES:
            x = random.normal(0, 2, rows * columns).astype(np.float32)
            bias = random.normal(0, 1, columns).astype(np.float32)
            y = np.full(rows * columns + GUARD, -7, np.float32)
            values = [x, bias, y, np.array(rows, np.uint32), np.array(columns, np.uint32)]
            grid = (-(-columns // COLUMNS), -(-rows // ROWS), 1)
            found = launch(device, kernel, values, grid)[2]
            exact = gelu(x.astype(np.float64).reshape(rows, columns) + bias.astype(np.float64)).reshape(-1)
            fault = difference(found[: exact.size], exact, RTOL, ATOL)
            if not fault and not (found[exact.size :] == -7).all():
                fault = "it wrote past the end of the matrix"
            if fault:
                print(f"FAIL fused_gelu_bias {rows} x {columns}: {fault}")
                continue
            error = np.max(np.abs(found[: exact.size] - exact))
            passed += 1
            print(f"PASS fused_gelu_bias {rows} x {columns}: {exact.size} elements, largest error {error:.2e}")
    verdict = "SUCCESS" if passed == len(SHAPES) else "FAILURE"
    bound = f"{RTOL:g} relative, {ATOL:g} absolute"
    print(f"{verdict}: {passed}/{len(SHAPES)} shapes agree with NumPy in float64 within {bound}")
    return 0 if passed == len(SHAPES) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} fused_gelu_bias.cubin")
    try:
        sys.exit(check(sys.argv[1]))
    except ProblemError as error:
        sys.exit(str(error))
