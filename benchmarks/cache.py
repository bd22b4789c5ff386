"""What the cache saves and what it costs, as ratios measured in one run: `python benchmarks/cache.py [--quick]`.

- clone: a clean build from a warm HTTP server over the same build without a cache, for 200 CUDA C++ libraries, and for
  a graph of Rust libraries and Tile C++ programs (aim: 0.2); and what adding everything to the server costs.
- null: a build with nothing to do for 200 libraries, with a cache over without, in seconds of the processor.

Clean builds run at `-j2`; the server is one of this process.  Every time but that of a build without a cache is the
best of a few runs.  Run it in the environment that sconsw makes, on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "cache")]

from build import ARCH, project, scons, timed  # noqa: E402
from servers import Server, serving  # noqa: E402

RUST = """\
use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn relu_{n}(x: f32) -> f32 {{ if x > {n}.0 {{ x }} else {{ 0.0 }} }}
"""
CALLER = """\
#include "lib{n}_tile.h"

namespace ct = cuda::tiles;

__tile__ auto whole(float* data) {{
    return ct::partition_view{{ct::tensor_span{{data, ct::shape<128>{{}}}}, ct::shape<128>{{}}}};
}}

extern "C" __tile_global__ void call_relu(float* x, float* result) {{
    auto results = whole(result);
    results.store(lib{n}::relu_{n}(whole(x).load(0), results.load(0)), 0);
}}

int main() {{ return 0; }}
"""
MIXED = """\
import tilewright.scons
env = Environment(tools=[tilewright.scons.generate])
for n in range({count}):
    library = env.TileLibrary(f"lib{{n}}", f"lib{{n}}.rs")
    env.TileBindings(library)
    env.TileProgram(f"caller{{n}}", f"caller{{n}}.cu", libraries=[library])
"""


def mixed(folder: Path, count: int) -> Path:
    """A project of `count` Rust libraries, each with its bindings and a program that calls it."""
    folder.mkdir()
    for n in range(count):
        (folder / f"lib{n}.rs").write_text(RUST.format(n=n), encoding="utf-8")
        (folder / f"caller{n}.cu").write_text(CALLER.format(n=n), encoding="utf-8")
    (folder / "SConstruct").write_text(MIXED.format(count=count), encoding="utf-8")
    return folder


def clean(folder: Path, *arguments: str) -> None:
    """A build of a folder from which everything made is removed."""
    shutil.rmtree(folder / "build", ignore_errors=True)
    (folder / ".sconsign.dblite").unlink(missing_ok=True)
    scons(folder, f"arch={ARCH}", "-j2", *arguments)


def clone(what: str, folder: Path, aim: str = "") -> None:
    with serving() as server:
        cold = timed(lambda: clean(folder), repeats=1)
        filling = timed(lambda: clean(folder, f"cache={server.url}", "cache_write=1"), repeats=1)
        warm = timed(lambda: clean(folder, f"cache={server.url}"))
        ensure_only_read(server, folder)
    print(
        f"clone: {what}: {warm:.1f} s from the server, {cold:.1f} s without: {warm / cold:.2f}{aim}; "
        f"adding all costs {100 * (filling / cold - 1):.0f} %"
    )


def ensure_only_read(server: Server, folder: Path) -> None:
    """Exits unless a warm build finds everything on the server."""
    server.requests.clear()
    entries = len([path for path in server.contents if "/ac/" in path])
    clean(folder, f"cache={server.url}")
    asked = len([line for line in server.requests if line.startswith("GET") and "/ac/" in line])
    if asked != entries or not entries:
        sys.exit(f"the server holds {entries} entries, and a warm build asked for {asked}")


def null_build(folder: Path, cache: Path) -> None:
    """By the processor's time, in turns, as the difference is smaller than what else a machine does."""

    def build(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        scons(folder, f"arch={ARCH}", *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    build(f"cache={cache}")
    pairs = [(build(), build(f"cache={cache}")) for _ in range(6)]
    without, with_cache = (min(times) for times in zip(*pairs, strict=True))
    print(f"null:  with a cache {with_cache / without:.2f} times the build without ({without:.1f} s of the processor)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the libraries, to see that it runs")
    scale = 10 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as work:
        folder = project(Path(work) / "libraries", 200 // scale)
        clone(f"{200 // scale} CUDA C++ libraries", folder)
        clone(f"{20 // scale} Rust libraries with programs", mixed(Path(work) / "mixed", 20 // scale), " (aim 0.2)")
        null_build(folder, Path(work) / "cache")


if __name__ == "__main__":
    main()
