"""Calls `relu` of the tile library from a cuTile Python kernel, through the generated module tilelib_relu_tile.py.

    python call_from_cutile.py --bindings build/sm_120/examples/tilelib_relu --dry-run
    python call_from_cutile.py --bindings build/sm_90/examples/tilelib_relu --cubin relu.cubin --arch sm_90

The dry run compiles the kernel to Tile IR bytecode, which needs no assembler and no GPU. The other form goes on to a
cubin, which `tilewright run` launches; it needs the tileiras that the library was made with. Both need cuTile Python
1.7 or newer and its preview package `cuda.tile_preview`; without them the script says so and stops.
"""

import argparse
import sys
from pathlib import Path

try:
    import cuda.tile as ct
    import cuda.tile_preview  # noqa: F401 (the generated module uses it)
except ImportError as missing:
    print(f"skipping: {missing.name} is not installed")
    sys.exit(0)

from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._compile import compile_tile
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature

options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
options.add_argument(
    "--bindings", type=Path, required=True, help="folder of tilelib_relu_tile.py and tilelib_relu.tilelib"
)
options.add_argument("--dry-run", action="store_true", help="stop at the bytecode")
options.add_argument("--cubin", type=Path, help="file to write")
options.add_argument("--arch", default="sm_90", help="architecture of the cubin")

TILE = 128
VERSION = BytecodeVersion.V_13_5  # preview content is read at the assembler's current version only


def main() -> int:
    """Compiles the kernel and says what became of it."""
    given = options.parse_args()
    if given.cubin is None and not given.dry_run:
        options.error("choose --dry-run or --cubin FILE")
    sys.path.insert(0, str(given.bindings))
    import tilelib_relu_tile as tilelib_relu

    if not Path(tilelib_relu.LIBRARY).is_file():
        print(f"FAIL: {tilelib_relu.LIBRARY} does not exist; it has to when a kernel is traced")
        return 1

    @ct.kernel
    def relu_tile(x, y):
        """One block runs `relu` over one tile of `x` into `y`."""
        block = ct.bid(0)
        tile = ct.load(x, index=(block,), shape=(TILE,))
        ct.store(y, index=(block,), tile=tilelib_relu.relu(tile))

    array = ArrayConstraint(
        ct.float32,
        1,
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=(1,),
    )
    signature = KernelSignature([array, array], CallingConvention.cutile_python_v1(), "relu_tile")
    compiled = compile_tile(
        relu_tile._annotated_function,
        [signature],
        sm_arch=given.arch,
        bytecode_version=VERSION,
        return_bytecode=True,
        return_cubin=not given.dry_run,
    )
    bytecode = bytes(compiled.bytecode)
    header = bytecode[8:12].hex()
    meaning = f"version {bytecode[8]}.{bytecode[9]}, preview flag {'set' if bytecode[10] & 1 else 'NOT set'}"
    print(f"bytecode: {len(bytecode)} bytes, header {header} ({meaning})")
    if header != "0d050100":
        print("FAIL: the header of a program that calls a tile library is 0d050100")
        return 1
    if given.dry_run:
        print("PASS: the caller side compiles; the program calls `relu` through preview$call (dry run, no cubin)")
        return 0
    given.cubin.write_bytes(compiled.cubin)
    print(f"PASS: the caller side compiles; {given.cubin} holds the kernel relu_tile for {given.arch}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
