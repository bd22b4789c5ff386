"""What a call into a tile library costs: kernels over 256 MB that differ in one expression, on a GPU.

    python benchmarks/boundary/boundary.py --build boundary.cubin --arch sm_90     # any machine with the toolkit
    python benchmarks/boundary/boundary.py --run boundary.cubin                    # the GPU machine

Each kernel computes max(x, 0) tile by tile, once through `relu` of a tile library and once by the tile operation `max`;
for tiles of 128 and of 1024 elements.  The two are measured in turn, and the ratio of their median times is taken in
each round; the last line of a size gives the median of the ratios and their spread. The aim is 1.02 at most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

HERE = Path(__file__).resolve().parent
LIBRARIES = (("tilelib_relu", ROOT / "examples/tilelib_relu/tilelib_relu.cu"), ("wide", HERE / "wide.cu"))
ELEMENTS = 256 * 2**20 // 4
TILES_PER_BLOCK = 16
SIZES = (128, 1024)
ROUNDS, RUNS = 9, 50
GOAL = 1.02


def build(cubin: Path, arch: str) -> int:
    """Makes the cubin with the libraries, their bindings and the program's own commands."""
    import os

    from tilewright.callers.program.compilation import Program, compile_program
    from tilewright.cli import main
    from tilewright.toolchain.toolkit import resolve

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for library, source in LIBRARIES:
            if main(["build", str(source), "--arch", arch, "-o", str(folder / f"{library}.tilelib")]):
                return 1
            main(["bindings", str(folder / f"{library}.tileexports.json")])
        files = tuple(folder / f"{library}.tilelib" for library, _ in LIBRARIES)
        program = Program(HERE / "boundary.cu", files, arch, cubin=True, include=(folder,))
        compiled = compile_program(program, resolve(os.environ))
    for warning in compiled.warnings:
        print(warning)
    cubin.write_bytes(compiled.data)
    print(f"{cubin}: {len(compiled.data)} bytes for {arch}, {len(compiled.warnings)} call(s) not inlined")
    return 0


def run(cubin: Path) -> int:
    """Checks both kernels, then measures them in turn."""
    import numpy as np

    from tilewright.callers.launch.comparison import difference
    from tilewright.callers.launch.device import launch, load_kernel, measure, open_device

    data = cubin.read_bytes()
    x = np.random.default_rng(5).normal(size=ELEMENTS).astype(np.float32)
    values = [x, np.empty_like(x), np.array(ELEMENTS, np.uint32)]
    with open_device() as device:
        print(f"{device.name} ({device.architecture}): {x.nbytes / 2**20:.0f} MB in, as much out")
        for size in SIZES:
            grid = (-(-ELEMENTS // (size * TILES_PER_BLOCK)), 1, 1)
            names = (f"library_{size}", f"native_{size}")
            with (
                load_kernel(device, data, names[0], str(cubin)) as library,
                load_kernel(device, data, names[1], str(cubin)) as native,
            ):
                for kernel in (library, native):
                    fault = difference(launch(device, kernel, values, grid)[1], np.maximum(x, np.float32(0)))
                    print(f"{'FAIL' if fault else 'PASS'} {kernel.name}: {fault or f'{x.size} elements, every bit'}")
                    if fault:
                        return 1
                ratios = []
                for number in range(ROUNDS):
                    pair = (library, native) if number % 2 else (native, library)
                    times = {one.name: statistics.median(measure(device, one, values, grid, runs=RUNS)) for one in pair}
                    ratios.append(times[names[0]] / times[names[1]])
                    speeds = ", ".join(
                        f"{name} {times[name]:.4f} ms ({2 * x.nbytes / times[name] / 1e9:.2f} TB/s)" for name in names
                    )
                    print(f"  round {number}: {speeds}, ratio {ratios[-1]:.4f}")
            middle = statistics.median(ratios)
            verdict = "within" if middle <= GOAL else "above"
            spread = f"{min(ratios):.4f} to {max(ratios):.4f} in {ROUNDS} rounds of {RUNS}"
            print(f"tile {size}: library over native {middle:.4f} ({spread}), {verdict} the aim of {GOAL}")
    return 0


def main() -> int:
    """One of the two halves."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--build", type=Path, metavar="CUBIN")
    options.add_argument("--run", type=Path, metavar="CUBIN")
    options.add_argument("--arch", default="sm_90")
    given = options.parse_args()
    if given.build:
        return build(given.build, given.arch)
    if given.run:
        return run(given.run)
    return options.error("choose --build or --run")


if __name__ == "__main__":
    sys.exit(main())
