"""Tile shaders on a GPU beside torch, as ratios taken in one run: `python benchmarks/shaders.py OUT [--nvrtc LIBRARY]`.

The route measured is the CUDA reference route: ordered folds, one program a thread, no shared memory. Every output is
compared as a whole with a float64 result on the GPU, before and after it was timed. Medians over rounds whose order
rotates; times by events around launches that queue up behind a delay, so that no launch overhead is in them. Slow rows
are kept. Also: host time of capture, verify and lower of attention, and of loading a cached shader.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from tilewright import runtime, tile  # noqa: E402
from tilewright.lowering.cuda.lower import lower  # noqa: E402
from tilewright.runtime.cuda_device import CudaDevice  # noqa: E402
from tilewright.runtime.driver import CudaDriver  # noqa: E402

ROUNDS = 7
ROUTE = "cuda reference"


@tile.kernel
def axpb(x: tile.In[tile.f32, 1], y: tile.Out[tile.f32, 1]):
    """y = x > 0 ? 1.25 x - 0.5 : -x."""
    e = tile.axis("e", 1024)
    for p in tile.parallel(tile.cdiv(x.shape[0], 1024)):
        o = p.index() * 1024
        t = x[o, e]
        y[o, e] = tile.where(t > 0.0, t * 1.25 - 0.5, -t)


@tile.kernel
def swiglu(gate: tile.In[tile.f32, 2], up: tile.In[tile.f32, 2], y: tile.Out[tile.f32, 2]):
    """silu(gate) * up."""
    one, n = tile.axis("one", 1), tile.axis("n", gate.shape[1])
    for row in tile.parallel(gate.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.swiglu(gate[at, (one, n)], up[at, (one, n)])


@tile.kernel
def softmax(x: tile.In[tile.f32, 2], y: tile.Out[tile.f32, 2]):
    """A program a row."""
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.softmax(x[at, (one, n)], n)


@tile.kernel
def rms_norm(x: tile.In[tile.f32, 2], weight: tile.In[tile.f32, 1], y: tile.Out[tile.f32, 2]):
    """A program a row."""
    one, n = tile.axis("one", 1), tile.axis("n", x.shape[1])
    for row in tile.parallel(x.shape[0]):
        at = (row.index(), 0)
        y[at, (one, n)] = tile.rms_norm(x[at, (one, n)], weight[0, n], n)


def gemm(bm: int, bn: int, bk: int) -> tile.KernelDefinition:
    """C = A B, a program a tile of C."""

    @tile.kernel(name="gemm")
    def body(a: tile.In[tile.f32, 2], b: tile.In[tile.f32, 2], c: tile.Out[tile.f32, 2]):
        (rows, depth), columns = a.shape, b.shape[1]
        gm, gn = tile.axis("gm", tile.cdiv(rows, bm)), tile.axis("gn", tile.cdiv(columns, bn))
        m, n, k = tile.axis("m", bm), tile.axis("n", bn), tile.axis("k", bk)
        for p in tile.parallel(gm, gn):
            r, s = p[gm] * bm, p[gn] * bn
            acc = tile.var(tile.zeros((m, n)))
            for step in p.pipeline(tile.cdiv(depth, bk), stages=2):
                q = step.index() * bk
                acc.set(tile.mma(a[(r, q), (m, k)], b[(q, s), (k, n)], acc))
            c[(r, s), (m, n)] = acc

    return body


@dataclass
class Row:
    """One line of the report: times in milliseconds by implementation; `work` is bytes or operations of one run."""

    name: str
    work: float
    unit: str
    runs: dict[str, Callable[[], object]]
    check: Callable[[], float]
    tolerance: float
    launches: int
    note: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)


class Bench:
    """One device shared with torch: its memory, its current stream."""

    def __init__(self, nvrtc: str | None, cache: Path) -> None:
        import torch

        self.torch = torch
        self.anchor = torch.zeros(1, device="cuda")
        self.device = CudaDevice(CudaDriver(), cache=cache, nvrtc=nvrtc)
        self.stream = self.device.stream(torch.cuda.current_stream().cuda_stream)
        torch.backends.cuda.matmul.allow_tf32 = False

    def random(self, *shape: int):
        return self.torch.randn(shape, device="cuda", dtype=self.torch.float32)

    def shader(self, kernel: tile.Kernel, tensors, **options) -> tuple[Callable[[], object], str]:
        """A launch on these tensors, and how it is realised."""
        shader = runtime.compile(self.device, kernel, **options)
        if not shader:
            raise SystemExit(shader.metadata.error)
        buffers = [self.device.external(tensor.data_ptr(), tensor.numel()) for tensor in tensors]
        command = shader(*buffers).dispatch()
        return lambda: self.stream.submit(command), shader.metadata.realization

    def compiled(self, function: Callable[..., object], *tensors) -> Callable[[], object] | None:
        """The same by torch.compile, or None where that does not work on this machine."""
        try:
            fast = self.torch.compile(function)
            fast(*tensors)
            self.torch.cuda.synchronize()
        except Exception as error:
            print(f"torch.compile is left out: {str(error).splitlines()[0]}", file=sys.stderr)
            return None
        return lambda: fast(*tensors)

    def time(self, run: Callable[[], object], launches: int) -> float:
        """Milliseconds of one launch, of `launches` that wait behind a delay together."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda._sleep(4_000_000)
        begin.record()
        for _ in range(launches):
            run()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / launches

    def share(self, got, want, tolerance: float) -> float:
        """Largest error as a share of tolerance * (1 + |want|)."""
        error = (got.double() - want).abs() / (tolerance * (1.0 + want.abs()))
        return float(error.nan_to_num(nan=float("inf")).max())


def elementwise_rows(bench: Bench) -> list[Row]:
    torch = bench.torch
    rows = []
    x = bench.random(2**28)
    y = torch.full_like(x, float("nan"))

    def eager(x):
        return torch.where(x > 0, x * 1.25 - 0.5, -x)

    run, note = bench.shader(axpb.capture((2**28,), (2**28,)), (x, y))
    runs = {"tilewright": run, "torch eager": lambda: eager(x), "torch.compile": bench.compiled(eager, x)}
    runs["copy"] = lambda: y.copy_(x)

    def check() -> float:
        y.fill_(float("nan"))
        run()
        parts = zip(y.split(2**26), x.split(2**26), strict=True)
        return max(bench.share(got, eager(part.double()), 2e-4) for got, part in parts)

    rows.append(Row("axpb 2^28", 2 * x.numel() * 4, "GB/s", live(runs), check, 2e-4, 10, note))

    gate, up = bench.random(8192, 8192), bench.random(8192, 8192)
    out = torch.full_like(gate, float("nan"))

    def eager_swiglu(gate, up):
        return torch.nn.functional.silu(gate) * up

    shapes = [tuple(gate.shape)] * 3
    swiglu_run, note = bench.shader(swiglu.capture(*shapes), (gate, up, out))
    runs = {"tilewright": swiglu_run, "torch eager": lambda: eager_swiglu(gate, up)}
    runs["torch.compile"] = bench.compiled(eager_swiglu, gate, up)
    runs["copy"] = lambda: out.copy_(gate)

    def check_swiglu() -> float:
        out.fill_(float("nan"))
        swiglu_run()
        return bench.share(out, eager_swiglu(gate.double(), up.double()), 5e-5)

    row = Row("swiglu 8192x8192", 3 * gate.numel() * 4, "GB/s", live(runs), check_swiglu, 5e-5, 20, note)
    rows.append(row)
    return rows


def row_rows(bench: Bench) -> list[Row]:
    torch = bench.torch
    rows = []
    x = bench.random(4096, 4096)
    y = torch.full_like(x, float("nan"))
    run, note = bench.shader(softmax.capture((4096, 4096), (4096, 4096)), (x, y), threads_per_group=32)
    runs = {"tilewright": run, "torch eager": lambda: torch.softmax(x, 1)}
    runs["torch.compile"] = bench.compiled(lambda x: torch.softmax(x, 1), x)
    runs["copy"] = lambda: y.copy_(x)

    def check() -> float:
        y.fill_(float("nan"))
        run()
        return bench.share(y, torch.softmax(x.double(), 1), 2e-4)

    rows.append(Row("softmax 4096x4096", 2 * x.numel() * 4, "GB/s", live(runs), check, 2e-4, 10, note))

    data, weight = bench.random(4096, 8192), bench.random(8192)
    normal = torch.full_like(data, float("nan"))

    def eager(data, weight):
        return data * torch.rsqrt(data.square().mean(1, keepdim=True) + 1e-5) * weight

    kernel = rms_norm.capture((4096, 8192), (8192,), (4096, 8192))
    norm_run, note = bench.shader(kernel, (data, weight, normal), threads_per_group=32)
    runs = {"tilewright": norm_run, "torch eager": lambda: eager(data, weight)}
    runs["torch.compile"] = bench.compiled(eager, data, weight)
    runs["copy"] = lambda: normal.copy_(data)

    def check_norm() -> float:
        normal.fill_(float("nan"))
        norm_run()
        return bench.share(normal, eager(data.double(), weight.double()), 5e-5)

    rows.append(Row("rms_norm 4096x8192", 2 * data.numel() * 4, "GB/s", live(runs), check_norm, 5e-5, 10, note))
    return rows


def gemm_rows(bench: Bench) -> list[Row]:
    torch = bench.torch
    rows = []
    for size, tiles in (
        (1024, ((4, 4, 8), (4, 8, 8), (8, 8, 8))),
        (4096, ((4, 8, 8), (8, 8, 4), (8, 8, 8), (8, 8, 16))),
    ):
        a, b = bench.random(size, size), bench.random(size, size)
        c = torch.full_like(a, float("nan"))
        want = a.double() @ b.double()
        tolerance = 2e-4 * size / 1024  # products are added in order, so the error may grow with their number
        runs = {"torch eager": lambda a=a, b=b: torch.mm(a, b)}
        notes = []
        for shape in tiles:
            kernel = gemm(*shape).capture((size, size), (size, size), (size, size))
            word = "x".join(map(str, shape))
            runs[f"tilewright {word}"], note = bench.shader(kernel, (a, b, c))
            notes.append(f"{word}: {note}")
        ours = [run for name, run in runs.items() if name.startswith("tilewright")]

        def check(c=c, want=want, ours=ours, tolerance=tolerance) -> float:
            shares = []
            for run in ours:
                c.fill_(float("nan"))
                run()
                shares.append(bench.share(c, want, tolerance))
            return max(shares)

        rows.append(Row(f"gemm {size}^3 f32", 2.0 * size**3, "TFLOP/s", runs, check, tolerance, 5, "; ".join(notes)))
    return rows


def live(runs: dict[str, Callable[[], object] | None]) -> dict[str, Callable[[], object]]:
    return {name: run for name, run in runs.items() if run is not None}


def measure(bench: Bench, row: Row) -> dict[str, object]:
    """Checks, times in rounds of rotating order, checks again."""
    before = row.check()
    names = list(row.runs)
    for name in names:
        bench.time(row.runs[name], 3)
    for turn in range(ROUNDS):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            row.times.setdefault(name, []).append(bench.time(row.runs[name], row.launches))
    after = row.check()
    medians = {name: statistics.median(times) for name, times in row.times.items()}
    best = min((name for name in names if name.startswith("tilewright")), key=medians.__getitem__)
    ratios = {
        other: statistics.median(theirs / ours for ours, theirs in zip(row.times[best], row.times[other], strict=True))
        for other in names
        if other != best
    }
    scale = 1e-6 if row.unit == "GB/s" else 1e-9
    copy = 2 * row.work / 3 if "swiglu" in row.name else row.work
    record: dict[str, object] = {
        "name": row.name,
        "route": ROUTE,
        "milliseconds": medians,
        "rate": {
            n: row_rate * scale for n, ms in medians.items() if (row_rate := (copy if n == "copy" else row.work) / ms)
        },
        "unit": row.unit,
        "best": best,
        "times_faster_than": ratios,
        "largest_error_share": max(before, after),
        "tolerance": row.tolerance,
        "checked": max(before, after) <= 1.0,
        "realization": row.note,
    }
    if "copy" in medians:
        record["share_of_copy_bandwidth"] = (row.work / medians[best]) / (copy / medians["copy"])
    return record


def host_times(bench: Bench, folder: Path, nvrtc: str | None) -> dict[str, float]:
    """Milliseconds on the host: capture, verify and lower of attention; load of a cached shader in a new device."""
    shapes = (2, 8, 64, 64), (2, 2, 256, 64), (2, 2, 256, 64), (2, 8, 64, 64)

    def lowered() -> None:
        lower(tile.attention(2, 8).capture(*shapes).function)

    kernel = softmax.capture((64, 128), (64, 128))
    runtime.compile(CudaDevice(bench.device.driver, cache=folder, nvrtc=nvrtc), kernel)

    def loaded() -> None:
        if not runtime.compile(CudaDevice(bench.device.driver, cache=folder, nvrtc=nvrtc), kernel):
            raise SystemExit("the stored shader does not load")

    return {"attention capture+verify+lower": typical(lowered), "cached shader load": typical(loaded)}


def typical(run: Callable[[], None]) -> float:
    """Median of 50 calls, so that the first ones, which fill caches of the host, do not decide."""
    times = []
    for _ in range(50):
        started = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - started))
    return statistics.median(times)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--nvrtc", default=None)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(words.nvrtc, Path(folder) / "kernels")
        report: dict[str, object] = {
            "device": bench.device.name,
            "torch": bench.torch.__version__,
            "nvrtc": bench.device.nvrtc.version_text,
            "host_milliseconds": host_times(bench, Path(folder) / "host", words.nvrtc),
        }
        records = []
        for family in (elementwise_rows, row_rows, gemm_rows):
            for row in family(bench):
                records.append(measure(bench, row))
                print(json.dumps(records[-1], indent=1), flush=True)
        report["rows"] = records
    words.out.mkdir(parents=True, exist_ok=True)
    (words.out / "shaders-bench.json").write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report["host_milliseconds"]))
    return 0 if all(record["checked"] for record in records) else 1


if __name__ == "__main__":
    sys.exit(main())
