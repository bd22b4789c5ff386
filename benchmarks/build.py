"""What a build costs beside the tools it runs, as ratios measured in one run: `python benchmarks/build.py [--quick]`.

- clean: a clean build of 100 libraries at `-j1`, without SCons' own start-up, over the same native tool calls made one
  after the other.  1 would be a build that costs nothing of its own; the aim is 1.4.
- null: a build with nothing to do for 1, 20 and 200 libraries, over ninja on as many files, and over SCons with the
  same nodes made with plain `Command`; the difference of the latter two is our part (aim: under 2 ms a library).
- writer: exports a second and peak memory of the bytecode writer at 1, 100 and 10,000 exports.

Every time is the best of a few runs.  Run it in the environment that sconsw makes, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

ARCH = "sm_120"
SOURCE = """\
[[tile_export(tile_shape = 128)]] __device__ float relu_{n}(float x) {{ return x > {n}.0f ? x : 0.0f; }}
[[tile_export(tile_shape = 128)]] __device__ void scale_{n}(float& x, float factor) {{ x *= factor + {n}.0f; }}
"""
OURS = """\
import tilewright.scons
env = Environment(tools=[tilewright.scons.generate])
for n in range({count}):
    env.TileLibrary(f"lib{{n}}", f"lib{{n}}.cu")
"""
PLAIN = """\
env = Environment(tools=[])
def copy(target, source, env):
    for node in target:
        open(node.abspath, "w").write(str(node))
for n in range({count}):
    folder = f"plain/lib{{n}}"
    exports = env.Command([folder + ".tileexports.json", folder + ".device.cu"], f"lib{{n}}.cu", copy)
    ltoir = env.Command(folder + ".ltoir", exports, copy)
    modules = env.Command([folder + e for e in (".iface.tilebc", ".impl.tilebc", ".tilelib.mlir")], exports[0], copy)
    env.Command(folder + ".tilelib", [modules[0], modules[1], ltoir], copy)
"""


def timed(action: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of `repeats` calls."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - started)
    return best


def scons(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}
    command = [sys.executable, "-m", "SCons", "-Q", "-s", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def project(folder: Path, count: int) -> Path:
    """A project of `count` libraries of two exports each."""
    folder.mkdir()
    for n in range(count):
        (folder / f"lib{n}.cu").write_text(SOURCE.format(n=n), encoding="utf-8")
    (folder / "SConstruct").write_text(OURS.format(count=count), encoding="utf-8")
    return folder


def native_seconds(folder: Path, count: int) -> float:
    """The sum of the native calls a clean build makes: compiler, probe link, disassembler, assembler, one at a time."""
    from tilewright.bytecode.modules import modules_of
    from tilewright.device.ltoir import make_ltoir
    from tilewright.device.workers import Workers
    from tilewright.library.crosscheck import crosscheck
    from tilewright.library.static import pack
    from tilewright.sources.cuda.includes import translation_unit
    from tilewright.sources.front_end import read_source
    from tilewright.toolchain.toolkit import resolve

    toolkit = resolve(os.environ)
    version = toolkit.bytecode_version()
    total = 0.0
    with Workers(1) as workers:
        for n in range(count + 1):
            name = f"lib{max(n - 1, 0)}"
            source = read_source(folder / f"{name}.cu", root=folder, library=name)
            unit = translation_unit(source.device_text, origin=f"{name}.cu", root=folder, include_path=())
            modules = modules_of(source.exports, version=version)
            started = time.perf_counter()
            ltoir = make_ltoir(unit, source.exports, arch=ARCH, toolkit=toolkit, workers=workers)
            crosscheck(source.exports, version, toolkit)
            pack(modules.interface, modules.implementation, ltoir, stem=name, toolkit=toolkit)
            if n:
                total += time.perf_counter() - started
    return total


def clean_build(work: Path, count: int) -> None:
    folder = project(work / "clean", count)
    empty = project(work / "empty", 0)
    start_up = timed(lambda: scons(empty, f"arch={ARCH}", "-j1"))
    clean = timed(lambda: scons(folder, f"arch={ARCH}", "-j1"), repeats=1) - start_up
    native = native_seconds(folder, count)
    print(f"clean: {count} libraries at -j1 take {clean / native:.2f} times their native tools (aim 1.4)")
    print(f"       {1000 * clean / count:.0f} ms a library, of it {1000 * native / count:.0f} ms native")


def ninja_project(folder: Path, count: int) -> None:
    """As many edges as our nodes have actions, each a copy."""
    lines = ["rule copy", "  command = cp $in $out"]
    for n in range(count):
        lines += [f"build n/lib{n}.a: copy lib{n}.cu", f"build n/lib{n}.b: copy n/lib{n}.a"]
        lines += [f"build n/lib{n}.c: copy n/lib{n}.b", f"build n/lib{n}.d: copy n/lib{n}.c"]
    (folder / "build.ninja").write_text("\n".join(lines) + "\n", encoding="utf-8")


def null_build(work: Path, count: int) -> None:
    folder = project(work / f"null{count}", count)
    plain = project(work / f"plain{count}", count)
    (plain / "SConstruct").write_text(PLAIN.format(count=count), encoding="utf-8")
    ninja_project(plain, count)
    ninja = Path(sys.executable).with_name("ninja")
    run_ninja = lambda: subprocess.run([ninja, "--quiet"], cwd=plain, check=True, capture_output=True)  # noqa: E731
    scons(folder, f"arch={ARCH}")
    scons(plain)
    run_ninja()
    ours, theirs, bare = (
        timed(lambda: scons(folder, f"arch={ARCH}"), 5),
        timed(lambda: scons(plain), 5),
        timed(run_ninja),
    )
    print(
        f"null:  {count:3d} libraries: {ours / bare:4.0f} times ninja, {ours / theirs:.2f} times plain Command; "
        f"{1000 * (ours - theirs) / count:.2f} ms a library are ours (aim: under 2 at 200)"
    )


def writer(count: int) -> None:
    """In a process of its own, so that the peak is the writer's."""
    code = f"import sys; sys.path[:0] = [{str(ROOT / 'benchmarks')!r}]; import build; build.write_exports({count})"
    subprocess.run([sys.executable, "-c", code], check=True)


def write_exports(count: int) -> None:
    from tilewright.bytecode.modules import modules_of
    from tilewright.exports.elements import ElementType
    from tilewright.exports.model import Access, ExportSet, Parameter, TileExport

    def export(n: int) -> TileExport:
        value = Parameter("x", ElementType.F32, Access.IN, by_value=True)
        result = Parameter(f"f{n}_out", ElementType.F32, Access.OUT, is_return=True)
        return TileExport(f"f{n}", f"f{n}_impl", f"f{n}", (value, result), tile_shape=1 << (n % 12))

    exports = ExportSet("many", tuple(export(n) for n in range(count)))
    seconds = timed(lambda: modules_of(exports, version=(13, 5)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"writer: {count:6d} exports in {seconds:.3f} s, peak {peak:.0f} MB (aim: 10000 in 2 s and 200 MB)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the libraries, to see that it runs")
    scale = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as work:
        clean_build(Path(work), 100 // scale)
        for count in sorted({1, 20, 200 // scale}):
            null_build(Path(work), count)
    for count in (1, 100, 10_000):
        writer(count)


if __name__ == "__main__":
    main()
