"""Seconds to link and to verify a library, emulated on the CPU: `python benchmarks/verification.py [--gpu]`.

Cold is the first library of a build: a worker starts and loads the compilers.  Warm is the same again in that worker.
Both compile the functions for the CPU, which gives the expected values.  With `--gpu` the bundles run on the GPU, too.
The worker processes are counted: one a build, whatever the number of exports.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from tilewright.callers.bundle import Bundle  # noqa: E402
from tilewright.callers.emulate import emulate_bundle  # noqa: E402
from tilewright.callers.host.compiler import find_compiler  # noqa: E402
from tilewright.callers.report import Report  # noqa: E402
from tilewright.callers.runner import run_bundle  # noqa: E402
from tilewright.callers.verification import make_bundle  # noqa: E402
from tilewright.device.ltoir import make_ltoir  # noqa: E402
from tilewright.device.module import DeviceModule  # noqa: E402
from tilewright.device.workers import Workers  # noqa: E402
from tilewright.exports.model import ExportSet  # noqa: E402
from tilewright.sources.front_end import read_source, translation_unit  # noqa: E402
from tilewright.sources.languages import CUDA  # noqa: E402
from tilewright.toolchain.toolkit import Toolkit, resolve  # noqa: E402

ARCH = "sm_90"
EXPORT = "[[tile_export(tile_shape = 128)]] __device__ float relu_{n}(float x) {{ return x > {n}.0f ? x : 0.0f; }}\n"
COUNTS = (1, 10, 100)

T = TypeVar("T")


@dataclass(frozen=True)
class Library:
    """Device code with its description and its source."""

    exports: ExportSet
    module: DeviceModule
    ltoir: bytes


def library(folder: Path, count: int, toolkit: Toolkit) -> Library:
    """A library of `count` exports, compiled."""
    path = folder / f"many_{count}.cu"
    path.write_text("".join(EXPORT.format(n=n) for n in range(count)), encoding="utf-8")
    source = read_source(path, root=folder, library=path.stem, toolkit_include=toolkit.include)
    module = translation_unit(CUDA, source.device_text, origin=path.name, root=folder, toolkit_include=toolkit.include)
    with Workers(1) as workers:
        ltoir = make_ltoir(module, source.exports, arch=ARCH, toolkit=toolkit, workers=workers)
    return Library(source.exports, module, ltoir)


def timed(action: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what the action gave."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def ensure(report: Report) -> None:
    """A time counts only where every export passed."""
    if not report.passed:
        sys.exit(report.text())


def measure(made: Library, toolkit: Toolkit, *, gpu: bool) -> None:
    """One line for the first time and one for the second, in the same workers."""
    compiler = find_compiler(os.environ)
    count = len(made.exports.exports)
    with Workers(1) as workers:

        def link() -> Bundle:
            return make_bundle(
                made.exports, made.ltoir, made.module, name="many.ltoir", arch=ARCH, seed=1, toolkit=toolkit,
                workers=workers, compiler=compiler,
            )  # fmt: skip

        processes = set()
        for state in ("cold", "warm"):
            linking, bundle = timed(link)
            emulating, report = timed(
                lambda bundle=bundle: emulate_bundle(
                    bundle, workers=workers, compiler=compiler, include=toolkit.include
                )
            )
            processes |= {child.pid for child in multiprocessing.active_children()}
            ensure(report)
            line = f"{count:3} exports, {state}: link and expected values {linking:.2f} s, emulated {emulating:.2f} s"
            if gpu:
                running, ran = timed(lambda bundle=bundle: run_bundle(bundle))
                ensure(ran)
                line += f", on the GPU {running:.2f} s"
            print(line)
        print(f"{count:3} exports: {len(processes)} worker process(es)")


def main() -> None:
    """Every size in turn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--gpu", action="store_true", help="run the bundles on the GPU, too")
    gpu = parser.parse_args().gpu
    toolkit = resolve(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            measure(library(Path(folder), count, toolkit), toolkit, gpu=gpu)


if __name__ == "__main__":
    main()
