"""Libraries in the provider form: the parametric example, what a build asks for, and what an edit rebuilds."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from needed_tools import needs
from tilewright.toolchain.toolkit import Toolkit

EXAMPLE = Path(__file__).parents[2] / "examples" / "tilelib_any"
OBSERVED = "provider_abi=observed"
LIBRARY = "build/sm_120/tilelib_any.tilelib"
SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
library = env.TileLibrary("tilelib_any", "tilelib_any.cu", provider=1)
env.TileBindings(library)
env.TileProgram("any_caller.cubin", "any_caller.cu", libraries=[library])
"""
SIZED = """
/// An export with a tile size goes into the same library.
[[tile_export(tile_shape = 128)]]
__device__ float halved(float x) {
    return x * 0.5f;
}
"""
OTHER_ARGUMENTS = SCONSTRUCT.replace("provider=1", "provider=1, provider_abi='observed', library_optional=1")


@pytest.fixture
def anys(project: Callable[..., Sandbox]) -> Sandbox:
    """The example's source, with one export that has a size, and its caller."""
    source = (EXAMPLE / "tilelib_any.cu").read_text(encoding="utf-8") + SIZED
    caller = (EXAMPLE / "any_caller.cu").read_text(encoding="utf-8")
    return project("anys", {"SConstruct": SCONSTRUCT, "tilelib_any.cu": source, "any_caller.cu": caller})


@needs("g++")
def test_one_library_serves_every_size_and_an_edit_of_a_body_rebuilds_it(anys: Sandbox, toolkit: Toolkit) -> None:
    first = anys.scons("arch=sm_120", OBSERVED)
    assert first.code == 0, first
    assert {"exports", "ltoir", "bytecode", "library", "bindings", "program"} == set(first.steps)
    assert "libtilelib_any_provider.so -o build/sm_120/tilelib_any.tilelib" in first.out
    assert f"Tile library written to {LIBRARY}" in first.out
    assert "descriptions written: 4 export(s)" in first.out
    assert "Left out" not in first.out
    command = [toolkit.require("nvdisasm").path, "-c", anys.folder / "build/sm_120/any_caller.cubin"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not re.search(r"\bCALL\b", text), "a function was linked but not inlined"
    assert len(re.findall(r"\bSHFL\.BFLY\b", text)) >= 5, "warp_sum_any has five butterfly steps"

    shown = anys.tilewright("inspect", LIBRARY).out
    assert "tilelib_any: provider tile library" in shown
    assert "@relu_any<[N: index]>" in shown
    assert "@halved(tile<128xf32> in, tile<128xf32> out)" in shown

    assert anys.scons("arch=sm_120", OBSERVED).up_to_date()
    before = anys.tree("build")
    source = anys.read("tilelib_any.cu").decode()
    anys.write({"tilelib_any.cu": source.replace("x *= factor", "x = factor * x + 1.0f")})
    edited = anys.scons("arch=sm_120", OBSERVED)
    assert edited.code == 0, edited
    assert {"ltoir", "library", "program"} <= set(edited.steps)
    assert "bindings" not in edited.steps
    after = anys.tree("build")
    for name in ("tilelib_any.tilelib", "any_caller.cubin"):
        assert after[f"sm_120/{name}"] != before[f"sm_120/{name}"]
    assert after["sm_120/tilelib_any.iface.tilebc"] == before["sm_120/tilelib_any.iface.tilebc"]


@needs("cc")
def test_the_form_is_a_variable_too_and_changing_it_makes_the_library_again(anys: Sandbox) -> None:
    anys.write({"SConstruct": SCONSTRUCT.replace(", provider=1", "")})
    assert anys.scons("arch=sm_120", "tile_shapes=64", LIBRARY).code == 0
    assert "static tile library" in anys.tilewright("inspect", LIBRARY).out
    static = anys.tree("build")
    provider = anys.scons("arch=sm_120", "tile_shapes=64", "provider=1", OBSERVED, LIBRARY)
    assert set(provider.steps) == {"bytecode", "library"}, "the device code is that of the static form"
    changed = {name for name, data in anys.tree("build").items() if static[name] != data}
    assert changed == {"sm_120/tilelib_any.tilelib"}
    assert "provider tile library" in anys.tilewright("inspect", LIBRARY).out


def test_without_an_abi_there_is_the_explanation_and_nothing_is_built(anys: Sandbox) -> None:
    run = anys.scons("arch=sm_120")
    assert run.code == 2
    assert "SConstruct:5: error: the provider form needs the Tile IR compiler's linkage provider header" in run.err
    assert "TILEIR_LINKAGE_PROVIDER_INCLUDE_DIR, the folder it is in, is not set" in run.err
    assert "hint: provider_abi=observed builds against tilewright's own declaration" in run.err
    assert not (anys.folder / "build").exists()
    other = anys.scons("arch=sm_120", "provider_abi=0.0.1")
    assert other.code == 2
    assert "there is no provider ABI `0.0.1`" in other.err


@needs("cc")
def test_a_machine_without_a_c_compiler_is_told_what_to_install(anys: Sandbox, tmp_path: Path) -> None:
    empty = tmp_path / "no programs"
    empty.mkdir()
    run = anys.scons("arch=sm_120", OBSERVED, LIBRARY, PATH=str(empty), CC="")
    assert run.code == 2
    assert "no C compiler was found" in run.err
    assert "pip install ziglang" in run.err
    assert not (anys.folder / LIBRARY).exists()
    found = anys.scons("arch=sm_120", OBSERVED, LIBRARY)
    assert (found.code, found.steps) == (0, ["library"])


@needs("cc")
def test_another_c_compiler_makes_the_library_again(anys: Sandbox, tmp_path: Path) -> None:
    assert anys.scons("arch=sm_120", OBSERVED, LIBRARY).code == 0
    compiler = tmp_path / "other" / "cc"
    compiler.parent.mkdir()
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "another compiler 1.0" && exit\nexec cc "$@"\n')
    compiler.chmod(0o755)
    assert anys.scons("arch=sm_120", OBSERVED, LIBRARY, CC=str(compiler)).steps == ["library"]


def test_an_assembler_that_cannot_pack_skips_it(anys: Sandbox, old_assembler: Path) -> None:
    refused = anys.scons("arch=sm_120", OBSERVED, LIBRARY, CUTILE_TILEIRAS_PATH=str(old_assembler))
    assert refused.code == 2
    assert "Tile library skipped: " in refused.out
    anys.write({"SConstruct": OTHER_ARGUMENTS})
    target = f"{LIBRARY}.skipped"
    run = anys.scons("arch=sm_120", target, CUTILE_TILEIRAS_PATH=str(old_assembler))
    assert run.code == 0, run
    assert "Tile library skipped: " in run.out
    assert "On CUDA 13.5 or newer, build it again" in run.out
    assert not (anys.folder / LIBRARY).exists()
    assert os.path.exists(anys.folder / target)
