"""Launches the three kernels of tile_caller.cubin with `tilewright run` and checks every element of what they write.

    python check_cubin.py build/sm_90/examples/tile_caller/tile_caller.cubin

Needs a GPU of the cubin's architecture, NumPy and cuda-bindings.
"""

import contextlib
import io
import sys
import tempfile
from pathlib import Path

import numpy as np

from tilewright.cli import main

ELEMENTS = 128
RAMP = f"f32[{ELEMENTS}]=ramp:-4:4"
HALF = f"f32[{ELEMENTS}]=fill:0.5"


def butterfly(x):
    """The sums of warp_sum in its own order, so that every rounding is the same."""
    for offset in (16, 8, 4, 2, 1):
        x = x + x[np.arange(ELEMENTS) ^ offset]
    return x


def check(cubin: str) -> int:
    """One line an export, then the count."""
    ramp = (-4 + 8 * np.arange(ELEMENTS) / ELEMENTS).astype(np.float32)
    cases = (
        ("relu", "call_relu", [RAMP], np.maximum(ramp, np.float32(0)), ""),
        ("scale_in_place", "call_scale", [RAMP, HALF], ramp * np.float32(0.5), ""),
        ("warp_sum", "call_warp_sum", [RAMP], butterfly(ramp), ", every lane holding its warp's total"),
    )
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, kernel, inputs, expected, remark in cases:
            wanted = Path(folder, f"{name}.npy")
            np.save(wanted, expected)
            arguments = [*inputs, f"f32[{ELEMENTS}]=fill:-7,compare={wanted}"]
            words = [word for argument in arguments for word in ("--arg", argument)]
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                code = main(["run", "--cubin", cubin, "--kernel", kernel, "--name", name, *words])
            if code == 0:
                passed += 1
                print(f"PASS {name}: {ELEMENTS} elements through the tile library{remark}")
            else:
                print(said.getvalue(), end="")
    verdict = "SUCCESS" if passed == len(cases) else "FAILURE"
    print(f"{verdict}: {passed}/{len(cases)} tile exports called from a Tile C++ kernel")
    return 0 if passed == len(cases) else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} tile_caller.cubin")
    sys.exit(check(sys.argv[1]))
