"""The evidence kernels and the shader cache on a real GPU: `python -m runtime.evidence OUT [--nvrtc LIBRARY]`.

Writes OUT/shaders-gpu.txt and prints the same; exits with 1 when any row fails. Evidence: GPU. Run it with the
folders `tools` and `tests` of a checkout on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lowering.evidence_cases import GUARD, Case, arguments, cases, worst
from lowering.random_programs import random_program
from tile import kernels as dsl
from tilewright import runtime
from tilewright.runtime.cuda_device import CudaDevice
from tilewright.runtime.driver import CudaDriver
from tilewright.runtime.identity import SIDECAR_SUFFIX
from tilewright.runtime.loading import OLD_DRIVER_KNOB
from tilewright.runtime.nvrtc import open_nvrtc
from tilewright.tileir.interpreter.run import evaluate

BAND = 32
RANDOM_PROGRAMS = 40


class Log(logging.Handler):
    """Keeps what the runtime says about loads."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def taken(self) -> str:
        lines, self.lines = self.lines, []
        return " | ".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--nvrtc", default=None)
    parser.add_argument("--cold", type=Path, default=None, help=argparse.SUPPRESS)
    words = parser.parse_args()
    log = Log()
    logger = logging.getLogger("tilewright.runtime")
    logger.addHandler(log)
    logger.setLevel(logging.DEBUG)
    driver = CudaDriver()
    if words.cold:
        print(cold_process(driver, words.cold, words.nvrtc, log))
        return 0
    rows = [header(driver, words.nvrtc)]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        device = CudaDevice(driver, cache=Path(folder) / "kernels", nvrtc=words.nvrtc)
        for text, passed in [
            *kernel_rows(device),
            *handle_rows(device),
            *cache_rows(driver, Path(folder) / "suite", words.nvrtc, log),
        ]:
            rows.append(f"{'ok  ' if passed else 'FAIL'} {text}")
            failures += not passed
    rows.append(f"{len(rows) - 1 - failures} ok, {failures} failed. Evidence: GPU.")
    text = "\n".join(rows) + "\n"
    words.out.mkdir(parents=True, exist_ok=True)
    (words.out / "shaders-gpu.txt").write_text(text)
    print(text)
    return 1 if failures else 0


def header(driver: CudaDriver, nvrtc: str | None) -> str:
    library = open_nvrtc(nvrtc)
    return (
        f"{driver.name} ({driver.architecture}), driver CUDA {driver.version // 1000}.{driver.version % 1000 // 10}, "
        f"NVRTC {library.version_text}, fallback {library.fallback}"
    )


def kernel_rows(device: CudaDevice) -> Iterator[tuple[str, bool]]:
    """Each kernel twice with other inputs: aligned views, then views at odd elements; one buffer holds all of them."""
    random = [Case(f"random-{seed}", lambda seed=seed: random_program(seed), 1e-4) for seed in range(RANDOM_PROGRAMS)]
    for case in [*cases(), *random]:
        function = case.capture()
        shader = runtime.compile(device, function, threads_per_group=case.threads)
        if not shader:
            yield f"{case.name}: {shader.metadata.error}", False
            continue
        shares = []
        intact = True
        for seed, shift in ((11, 0), (12, 3)):
            given = arguments(function, case, seed)
            after, bands = launched(device, shader, given, shift)
            intact = intact and bands
            expected = evaluate(function, given)
            shares += [worst(got, want, case.tolerance) for got, want in zip(after, expected, strict=True)]
        share = max(shares)
        text = f"{case.name:28} tolerance {case.tolerance:g}, largest error {share:.3f} of it"
        yield (
            f"{text}, guards {'intact' if intact else 'TOUCHED'}; {shader.metadata.realization}",
            (share <= 1.0 and intact),
        )


def launched(
    device: CudaDevice, shader: runtime.Shader, given: list[np.ndarray], shift: int
) -> tuple[list[np.ndarray], bool]:
    """Contents of every argument after one launch, and whether all that lies between the views is as it was."""
    starts, total = [], BAND
    for array in given:
        starts.append(total + shift)
        total += (array.size + shift + 2 * BAND) // BAND * BAND + BAND
    host = np.full(total + BAND, GUARD, np.float32)
    for start, array in zip(starts, given, strict=True):
        host[start : start + array.size] = array.ravel()
    buffer = device.buffer(host.size)
    stream = device.stream()
    views = [buffer.view(start, array.size) for start, array in zip(starts, given, strict=True)]
    found = np.empty_like(host)
    stream << buffer.copy_from(host) << shader(*views).dispatch() << buffer.copy_to(found)
    stream.synchronize()
    stream.close()
    buffer.close()
    after = [found[s : s + a.size].reshape(a.shape).copy() for s, a in zip(starts, given, strict=True)]
    for start, array in zip(starts, given, strict=True):
        found[start : start + array.size] = GUARD
    return after, bool((found == GUARD).all())


def handle_rows(device: CudaDevice) -> Iterator[tuple[str, bool]]:
    """Moves, refusals at the call, refusals of options."""
    kernel = dsl.axpb.capture((1003,), (1003,))
    shader = runtime.compile(device, kernel)
    given = arguments(kernel.function, Case("", lambda: kernel.function, 2e-4), 5)
    moved = shader.moved()
    after, bands = launched(device, moved, given, 1)
    expected = evaluate(kernel.function, given)
    yield "a moved shader computes the same", bands and worst(after[1], expected[1], 2e-4) <= 1.0
    buffer = device.buffer(2048)
    for text, keywords, call in (
        ("moved-from shader", "moved from", lambda: shader(buffer, buffer)),
        ("argument count", "argument count", lambda: moved(buffer)),
        ("small view", "size", lambda: moved(buffer.view(0, 1003), buffer.view(1003, 900))),
        ("overlap", "writable arguments 0 and 1 overlap", lambda: moved(buffer.view(0, 1003), buffer.view(1002, 1003))),
    ):
        try:
            call()
            yield f"refused at the call: {text}: was accepted", False
        except runtime.ShaderError as error:
            yield f"refused at the call: {text}: {str(error).splitlines()[0]}", keywords in str(error)
    for options in ({"threads_per_group": 33}, {"threads_per_group": 2048}, {"tensor_cores": True}):
        refused = runtime.compile(device, kernel, **options)
        first = refused.metadata.error.splitlines()[0] if refused.metadata.error else ""
        yield f"refused option {options}: {first}", not refused and bool(first) and not refused.metadata.source


def timed(device: CudaDevice, log: Log) -> tuple[bool, float, str]:
    """Compiles one kernel: whether there is a shader, milliseconds after lowering started, what the log says."""
    kernel = dsl.axpb.capture((1003,), (1003,))
    started = time.perf_counter()
    shader = runtime.compile(device, kernel)
    took = 1000 * (time.perf_counter() - started)
    return bool(shader), took, log.taken() or shader.metadata.error


def cache_rows(driver: CudaDriver, folder: Path, nvrtc: str | None, log: Log) -> Iterator[tuple[str, bool]]:
    """Cold, warm in memory, warm on disk, stale, torn, other architecture, old driver, second cold process."""

    def fresh(environ: dict[str, str] | None = None, where: Path = folder) -> CudaDevice:
        return CudaDevice(driver, cache=where, nvrtc=nvrtc, environ=environ or {})

    log.taken()
    device = fresh()
    good, took, said = timed(device, log)
    yield f"cold: {took:.1f} ms: {said}", good and "compiled for" in said
    patched_for_real = "patched to" in said
    yield f"the driver refuses the PTX of this NVRTC: {patched_for_real}", True
    good, took, said = timed(device, log)
    yield f"warm in memory: {took:.1f} ms: {said}", good and "from memory" in said and "patched" not in said
    good, took, said = timed(fresh(), log)
    yield (
        f"warm on disk: {took:.1f} ms: {said}",
        (good and "from kernel_" in said and "compiled" not in said and "patched" not in said),
    )
    (image,) = folder.glob("*.tile.ptx")
    sidecar = image.with_name(image.name + SIDECAR_SUFFIX)
    yield f"stored image {image.name}: {image.read_bytes().split(b'.version', 1)[1].split()[0].decode()}", True

    kept = sidecar.read_text()
    sidecar.write_text(kept.replace('"TILE"', '"RASTER"'))
    good, took, said = timed(fresh(), log)
    yield f"stale sidecar: {said}", good and "stale" in said and "compiled for" in said
    sidecar.write_text(kept.replace(driver.architecture, "sm_75"))
    good, took, said = timed(fresh(), log)
    yield f"other architecture: {said}", good and "stale" in said and "compiled for" in said
    image.write_bytes(image.read_bytes()[:200])
    good, took, said = timed(fresh(), log)
    yield f"torn image: {said}", good and "stale" in said and "compiled for" in said
    sidecar.unlink()
    good, took, said = timed(fresh(), log)
    yield f"no sidecar: {said}", good and "compiled for" in said

    simulated = folder.parent / "simulated"
    good, took, said = timed(fresh({OLD_DRIVER_KNOB: "1"}, simulated), log)
    yield f"simulated old driver: {said}", good and "patched to" in said
    good, took, said = timed(fresh({}, simulated), log)
    yield f"after it, warm on disk: {said}", good and "patched" not in said and "compiled" not in said

    real = folder.parent / "real"
    for label, wanted in (("first", "compiled for"), ("second", "from kernel_")):
        command = [sys.executable, "-m", "runtime.evidence", str(folder), "--cold", str(real)]
        command += ["--nvrtc", nvrtc] if nvrtc else []
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))
        said = done.stdout.strip()
        unpatched = label == "first" or "patched" not in said
        yield f"{label} cold process: {said or done.stderr[-400:]}", wanted in said and unpatched


def cold_process(driver: CudaDriver, folder: Path, nvrtc: str | None, log: Log) -> str:
    """One load in a process of its own."""
    good, took, said = timed(CudaDevice(driver, cache=folder, nvrtc=nvrtc, environ={}), log)
    return json.dumps({"loaded": good, "ms": round(took, 2), "log": said})


if __name__ == "__main__":
    sys.exit(main())
