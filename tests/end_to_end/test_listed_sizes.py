"""Static libraries of exports that a call gives the tile size: the example, and what another list rebuilds."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from needed_tools import needs
from tilewright.toolchain.toolkit import Toolkit

ROOT = Path(__file__).parents[2]
SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("anys", "any.cu")
env.TileBindings(relu)
for parts in relu.parts.values():
    env.Command(parts.interface.dir.File("copy"), parts.interface, "cp $SOURCE $TARGET; echo copied")
"""
SOURCE = """\
[[tile_export]] __device__ float relu_any(float x) { return x > 0.0f ? x : 0.0f; }
[[tile_export(tile_shapes = {32})]] __device__ void twice_any(float& x) { x += x; }
"""
OUT = "build/sm_90"


@needs("g++")
def test_the_example_calls_three_sizes_in_one_kernel_without_a_call(
    project: Callable[..., Sandbox], toolkit: Toolkit
) -> None:
    made = project("example", {"empty": ""})
    shutil.copytree(ROOT / "examples" / "tilelib_any", made.folder / "examples" / "tilelib_any")
    made.write(
        {
            "SConstruct": "import tilewright.scons\n"
            "env = Environment(tools=['default', tilewright.scons.generate])\n"
            "SConscript('examples/tilelib_any/SConscript', exports='env')\n"
        }
    )
    run = made.scons("arch=sm_90,sm_120")
    assert run.code == 0, run
    for arch in ("sm_90", "sm_120"):
        folder = made.folder / "build" / arch / "examples" / "tilelib_any"
        command = [toolkit.require("nvdisasm").path, "-c", folder / "any_caller.cubin"]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert not re.search(r"\bCALL\b", text), "a function was linked but not inlined"
        assert len(re.findall(r"\bSHFL\.BFLY\b", text)) >= 5, "warp_sum_any has five butterfly steps"
        assert re.search(r"\bFMNMX\b", text), "no instruction of relu_any"
    verified = made.scons("arch=sm_90", "verify-emulate")
    assert "SUCCESS: 8/8 tile exports verified through the native ABI" in verified.out


def test_a_further_size_rebuilds_code_and_library_and_not_what_follows_the_interface(
    project: Callable[..., Sandbox],
) -> None:
    made = project("sizes", {"SConstruct": SCONSTRUCT, "any.cu": SOURCE})
    first = made.scons("arch=sm_90")
    assert "Left out of the static library: `relu_any` (no tile_shape, so the call supplies the extent);" in first.out
    assert "`tile_shapes=[...]` or `provider=1` ships them" in first.out
    made.write({"SConstruct": SCONSTRUCT.replace('"any.cu"', '"any.cu", tile_shapes=[128, 64]')})
    listed = made.scons("arch=sm_90")
    assert "Left out" not in listed.out
    before = made.tree(OUT)
    assert b"__N" not in before["anys.tilelib.mlir"]

    made.write({"SConstruct": SCONSTRUCT.replace('"any.cu"', '"any.cu", tile_shapes=[64, 128, 64]')})
    assert made.scons("arch=sm_90").up_to_date(), "the same sizes in another order, one of them twice"

    made.write({"SConstruct": SCONSTRUCT.replace('"any.cu"', '"any.cu", tile_shapes=[64, 128, 256]')})
    further = made.scons("arch=sm_90")
    assert {"ltoir", "library"} <= set(further.steps)
    assert "copied" not in further.out
    after = made.tree(OUT)
    assert {name for name in after if after[name] != before[name]} == {
        "anys.ltoir",
        "anys.tileexports.json",
        "anys.tilelib",
    }
    shown = made.tilewright("inspect", f"{OUT}/anys.tilelib")
    assert "in tiles of 64, 128, 256 elements" in shown.out
    assert "in tiles of 32 elements" in shown.out


def test_the_variable_is_for_every_library_and_a_wrong_one_stops_the_reading(project: Callable[..., Sandbox]) -> None:
    made = project("variable", {"SConstruct": SCONSTRUCT, "any.cu": SOURCE})
    assert made.scons("arch=sm_90", "tile_shapes=64,512").code == 0
    assert "in tiles of 64, 512 elements" in made.tilewright("inspect", f"{OUT}/anys.tilelib").out
    wrong = made.scons("arch=sm_90", "tilelib_tile_shapes=64,100")
    assert wrong.code == 2
    assert "`100` is no tile size" in wrong.err
    assert "commas stand between them: tile_shapes=64,128" in wrong.err
    twice = made.scons("arch=sm_90", "tile_shapes=64", "tile_shapes=128")
    assert "tile_shapes=64,128" in twice.err


@pytest.mark.parametrize("given", ["64", "[64]", "'64'", "(64,)"])
def test_a_list_may_be_one_size(given: str, project: Callable[..., Sandbox]) -> None:
    script = SCONSTRUCT.replace('"any.cu"', f'"any.cu", tile_shapes={given}')
    made = project("one", {"SConstruct": script, "any.cu": SOURCE})
    assert made.scons("arch=sm_90", f"{OUT}/anys.tileexports.json").code == 0
    assert b'"tile_shapes": [\n        64\n      ]' in made.read(f"{OUT}/anys.tileexports.json")
