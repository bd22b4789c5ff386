"""What checking MSL on the CPU costs, measured in one run: `python benchmarks/metal.py [--quick]`.

- kernels: for each shader of `examples/shaders`, seconds to lower it, to type-check the MSL with clang, and to build
  and to run it in each variant as `check-metal` does: six launches plain, one under each sanitizer, each beside FP64.
- examples: `check-metal` of all of them by SCons at `-j1`, from nothing and again with nothing to do.
- emulator: nanoseconds a thread, and a meeting point of a thread, which is two switches of fibers; a matrix product and
  a softmax, whole launches with their files, over numpy on one thread.

Every time is CPU time of this process and of those it starts, which all take turns: other work on the machine disturbs
it little.  It is the best of a few runs, taken in turn where a ratio is printed.  Needed are clang and SCons.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded: the emulator runs on one thread, too
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import numpy as np  # noqa: E402

from tilewright.lowering.metal.check.clang import Clang, find_clang  # noqa: E402
from tilewright.lowering.metal.check.comparison import Case, examine  # noqa: E402
from tilewright.lowering.metal.check.programs import (  # noqa: E402
    Bound,
    Program,
    Variant,
    build,
    launch,
    runtime_object,
    type_check,
    write_headers,
)
from tilewright.lowering.metal.check.units import Msl  # noqa: E402
from tilewright.lowering.metal.lower import lower  # noqa: E402
from tilewright.lowering.options import CompileOptions  # noqa: E402
from tilewright.shaders.capture import capture  # noqa: E402
from tilewright.shaders.request import make_request  # noqa: E402
from tilewright.tileir.graph import Function  # noqa: E402
from tilewright.tileir.text.parser import parse_module  # noqa: E402

EXAMPLES = ROOT / "examples" / "shaders"
PROJECT = """\
import tilewright.scons
env = Environment(tools=[tilewright.scons.generate])
SConscript("shaders/SConscript", exports="env")
"""
TOLERANCE = 1e-4
REPEATS = 3


@dataclass(frozen=True)
class Shader:
    """A kernel of the examples at one shape."""

    name: str
    file: str
    values: dict[str, Any]
    options: CompileOptions = field(default_factory=lambda: CompileOptions(subgroup_reductions=True))

    def function(self) -> Function:
        request = make_request(self.name, "", self.values)
        text = capture(EXAMPLES / self.file, request, root=ROOT).text
        (found,) = parse_module(text, self.name).functions
        return found


MPP = CompileOptions(metal_mpp=True)


def softmax(rows: int, columns: int) -> Shader:
    return Shader("softmax", "softmax.py", {"x": (rows, columns), "y": (rows, columns)})


def product(rows: int, columns: int, depth: int) -> Shader:
    shapes = {"a": (rows, depth), "b": (depth, columns), "c": (rows, columns)}
    return Shader("native_gemm", "native_gemm.py", shapes, MPP)


NORMS = {"x": (256, 768), "weight": (768,), "y": (256, 768)}
HEADS = {"q": (1, 4, 60, 32), "k": (1, 2, 60, 32), "v": (1, 2, 60, 32), "out": (1, 4, 60, 32)}
SHADERS = (
    softmax(256, 512),
    product(96, 80, 72),
    Shader("rms_norm", "normalisation.py", NORMS),
    Shader("layer_norm", "normalisation.py", {**NORMS, "bias": (768,)}),
    Shader("cross_entropy", "cross_entropy.py", {"logits": (256, 1000), "label": (256,), "loss": (256,)}),
    Shader("attention", "attention.py", HEADS),
    Shader("axpb", "axpb.py", {"x": (1003,), "y": (1003,)}),
    Shader(
        "gemm",
        "gemm.py",
        {"name": "gemm", "a": (96, 72), "b": (72, 80), "c": (96, 80)},
        CompileOptions(),
    ),
)
"""The shapes of `examples/shaders/SConscript`; those that a quick run takes come first."""


def best(*actions: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """CPU seconds of the fastest of `repeats` calls of each action, made in turn."""
    seconds = [float("inf")] * len(actions)
    for _ in range(repeats):
        for place, action in enumerate(actions):
            started = spent()
            action()
            seconds[place] = min(seconds[place], spent() - started)
    return seconds


def spent() -> float:
    """CPU seconds of this process and of those that have ended below it."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def kernels(shaders: tuple[Shader, ...], clang: Clang, work: Path, repeats: int) -> None:
    """One line a shader; a time counts only where the evidence passed."""
    print("kernel         lower ms  check s     build s: plain   asan   tsan     run s: plain   asan   tsan")
    for shader in shaders:
        function = shader.function()
        case = Case(shader.name, function, lower(function, shader.options), TOLERANCE)
        msl = Msl.of(case.artifact, f"{shader.name}.metal")
        folder = work / shader.name
        folder.mkdir()
        build(clang, [msl], folder)  # the scheduler, which all programs of a folder share, is made by the first
        lowering, checking = best(
            lambda function=function, shader=shader: lower(function, shader.options),
            lambda msl=msl, folder=folder: type_check(clang, [msl], folder),
            repeats=repeats,
        )
        building, running = [], []
        for variant in Variant:
            building += best(
                lambda msl=msl, folder=folder, variant=variant: build(clang, [msl], folder, variant), repeats=repeats
            )
            program = build(clang, [msl], folder, variant)
            running += best(
                lambda program=program, case=case, folder=folder: checked(program, case, folder), repeats=repeats
            )
        columns = [f"{1000 * lowering:8.1f}", f"{checking:8.2f}", " " * 14]
        columns += [*(f"{each:6.2f}" for each in building), " " * 12, *(f"{each:6.2f}" for each in running)]
        print(f"{shader.name:14}", *columns)


def checked(program: Program, case: Case, folder: Path) -> None:
    evidence = examine(program, 0, case, folder)
    if not evidence.passed:
        sys.exit(str(evidence))


def examples(work: Path) -> None:
    """As a user runs it, at one job; the MSL that it checks is made in the same run."""
    project = work / "project"
    shutil.copytree(EXAMPLES, project / "shaders")
    (project / "SConstruct").write_text(PROJECT, encoding="utf-8")
    command = [sys.executable, "-m", "SCons", "-Q", "-j1", "check-metal"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}

    def run() -> str:
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    started = spent()
    count = run().count("all passed")
    clean = spent() - started
    (again,) = best(run)
    print(f"examples: check-metal of {count} shaders at -j1 {clean:.1f} s, {clean / count:.2f} s each; ", end="")
    print(f"again {again:.2f} s")


MEETINGS = """\
using namespace metal;
kernel void meetings(device const int *count [[buffer(0)]]) {
  for (int at = 0; at < count[0]; ++at) { simdgroup_barrier(mem_flags::mem_none); }
}
"""


def emulator(clang: Clang, work: Path, scale: int) -> None:
    """What one thread and one meeting point of a thread cost, as differences of two launches."""
    folder = work / "meetings"
    folder.mkdir()
    started = spent()
    runtime_object(clang, write_headers(folder), folder)
    print(f"emulator: its scheduler compiles in {spent() - started:.2f} s, once a shader")
    program = build(clang, [Msl("meetings.metal", MEETINGS, "meetings")], folder)
    groups, block, count = 1000 // scale, 256, 2000 // scale

    def run(grid: int, meetings: int) -> Callable[[], object]:
        bound = [Bound(np.array([meetings], np.int32))]
        return lambda: passed(launch(program, 0, (grid, 1, 1), (block, 1, 1), bound, folder).fault)

    one, many, met = best(run(1, 0), run(groups, 0), run(1, count))
    thread, meeting = (many - one) / (groups * block - block), (met - one) / (count * block)
    print(f"emulator: start of a program {1000 * one:.1f} ms, {1e9 * thread:.0f} ns a thread, ", end="")
    print(f"{1e9 * meeting:.0f} ns a meeting point of a thread (two switches)")


def passed(fault: str) -> None:
    if fault:
        sys.exit(fault)


def against_numpy(clang: Clang, work: Path, scale: int) -> None:
    """A whole launch of an emulated kernel over the same by numpy in FP32."""
    random = np.random.default_rng(0)
    side, rows, columns = 512 // scale, 1024 // scale, 1024 // scale
    a, b = (random.standard_normal((side, side)).astype(np.float32) for _ in range(2))
    x = random.standard_normal((rows, columns)).astype(np.float32)

    def soft() -> np.ndarray:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    compared(f"GEMM {side}^3", product(side, side, side), [a, b], lambda: a @ b, clang, work / "numpy_gemm")
    compared(f"softmax {rows} x {columns}", softmax(rows, columns), [x], soft, clang, work / "numpy_softmax")


def compared(
    title: str,
    shader: Shader,
    inputs: list[np.ndarray],
    reference: Callable[[], np.ndarray],
    clang: Clang,
    folder: Path,
) -> None:
    folder.mkdir()
    artifact = lower(shader.function(), shader.options)
    program = build(clang, [Msl.of(artifact)], folder)
    result = reference()
    buffers = [Bound(each) for each in (*inputs, np.full_like(result, np.nan))]

    def emulated() -> None:
        outcome = launch(program, 0, artifact.grid, artifact.block, buffers, folder)
        passed(outcome.fault)
        if not np.allclose(outcome.contents[-1], result, rtol=TOLERANCE, atol=TOLERANCE):
            sys.exit(f"{title} is wrong")

    ours, theirs = best(emulated, reference, repeats=2 * REPEATS)
    print(f"emulator: {title} {1000 * ours:.0f} ms, numpy {1000 * theirs:.2f} ms: {ours / theirs:.0f} times")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two kernels and small sizes, to see that it runs")
    quick = parser.parse_args().quick
    clang = find_clang(os.environ)
    print(f"clang {clang.version}, numpy {np.__version__}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        emulator(clang, work, 10 if quick else 1)
        against_numpy(clang, work, 4 if quick else 1)
        kernels(SHADERS[:2] if quick else SHADERS, clang, work, 1 if quick else REPEATS)
        if not quick:
            examples(work)


if __name__ == "__main__":
    main()
