"""Writes the MSL of another compiler, with a record of how it was made: `python generate.py tvm|tilelang`.

Runs in an environment that holds that compiler, which nothing else here needs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import runpy
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("compiler", choices=("tvm", "tilelang"))
    compiler = parser.parse_args().compiler
    folder = HERE / compiler
    program = runpy.run_path(str(folder / "program.py"))
    for name, (function, target, entry, buffers) in program["KERNELS"].items():
        source, extents = program["compiled"](function(), target)
        record = {
            "package": program["PACKAGE"],
            "version": version(program["PACKAGE"]),
            "license": program["LICENSE"],
            "command": f"python generate.py {compiler}",
            "target": target,
            "entry": entry,
            "grid": [extents.get(f"blockIdx.{axis}", 1) for axis in "xyz"],
            "block": [extents.get(f"threadIdx.{axis}", 1) for axis in "xyz"],
            "buffers": buffers,
            "sha256": hashlib.sha256(source.encode()).hexdigest(),
        }
        (folder / f"{name}.metal").write_text(source, encoding="utf-8")
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
        (folder / f"{name}.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
