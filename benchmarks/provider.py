"""A parametric library in its two forms, static and provider: `python benchmarks/provider.py [--arch sm_90]`.

Both are built from `examples/tilelib_any` and linked into the same kernel, which calls three exports at three sizes.
Printed are the time of the link, which for a provider holds the compiling of its answers, and the size of the library.
Times are medians of runs made in turn.  Run it in the environment that sconsw makes, with g++ and gcc on PATH.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

EXAMPLE = ROOT / "examples" / "tilelib_any"
CALL_SITES = 4
RUNS = 15


def main() -> None:
    from tilewright.cli import main as tilewright
    from tilewright.toolchain.shadow import shadow_root, tool_environment
    from tilewright.toolchain.toolkit import resolve

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arch", default="sm_90")
    arch = parser.parse_args().arch
    toolkit = resolve(os.environ)
    environment = tool_environment(toolkit, os.environ)
    with tempfile.TemporaryDirectory() as work:
        forms = {"static": ["--tile-shapes", "64,128,256"], "provider": ["--provider", "--provider-abi", "observed"]}
        libraries = {}
        for form, options in forms.items():
            libraries[form] = Path(work, form, "tilelib_any.tilelib")
            build = ["build", str(EXAMPLE / "tilelib_any.cu"), "--arch", arch, "-o", str(libraries[form]), *options]
            if tilewright(build) or tilewright(["bindings", str(libraries[form].with_suffix(".tileexports.json"))]):
                sys.exit(f"the {form} form was not built")
        kernel = Path(work, "any_caller.tilebc")
        preview = [
            "--enable-tile",
            "--tile-preview",
            "simt",
            "-std=c++20",
            f"-arch={arch}",
            f"-I{libraries['static'].parent}",
        ]
        nvcc = [shadow_root(toolkit) / "bin" / "nvcc", *preview, "--tilebc", "-o", kernel, EXAMPLE / "any_caller.cu"]
        subprocess.run(nvcc, env=environment, check=True)
        times: dict[str, list[float]] = {form: [] for form in forms}
        for _ in range(RUNS):
            for form, library in libraries.items():
                link = [toolkit.require("assembler").path, "--preview=simt", "-l", library, "--gpu-name", arch]
                started = time.perf_counter()
                subprocess.run([*link, "-o", Path(work, "x.cubin"), kernel], env=environment, check=True)
                times[form].append(1000 * (time.perf_counter() - started))
        median = {form: statistics.median(each) for form, each in times.items()}
        for form, each in median.items():
            print(f"{form:8} link {each:6.1f} ms, library {libraries[form].stat().st_size} bytes")
        extra = (median["provider"] - median["static"]) / CALL_SITES
        print(f"provider over static: {median['provider'] / median['static']:.3f}, {extra:.2f} ms a call site")


if __name__ == "__main__":
    main()
