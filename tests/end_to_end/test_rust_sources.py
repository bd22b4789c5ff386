"""Rust as the source of a library: what an edit rebuilds, crates, Tile C++ callers, the switch for f16."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from needed_tools import needs
from tilewright.toolchain.toolkit import Toolkit

pytestmark = needs("rustc")

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
"""
ROOT_FILE = """\
use cuda_device::tile_export;

mod scale;

#[tile_export(tile_shape = 128)]
pub fn twice(x: f32) -> f32 {
    scale::by(x, 2.0)
}
"""
MODULE = "pub fn by(x: f32, factor: f32) -> f32 {\n    x * factor\n}\n"
HALF = "use cuda_device::tile_export;\n\n#[tile_export(tile_shape = 128)]\npub fn half(x: f16) -> f16 {\n    -x\n}\n"
TYPES = {"f32": "float", "i8": "signed char", "i32": "int", "u32": "unsigned"}
SLOW_PATHS = {"quantise": 1, "silu": 1, "softmax4": 4}
"""Exports that divide: the compiler calls its own helper for operands near the ends of the range, once a division."""


def test_a_comment_in_a_module_stops_at_the_ir_and_a_body_at_the_library(project: Callable[..., Sandbox]) -> None:
    script = HEAD + 'env.TileBindings(env.TileLibrary("twice", "twice.rs"))\n'
    sandbox = project("rust", {"SConstruct": script, "twice.rs": ROOT_FILE, "scale.rs": MODULE})
    assert sandbox.scons("arch=sm_90").rebuilt("exports", "ltoir", "bytecode", "library", "bindings")
    assert sandbox.scons("arch=sm_90").up_to_date()
    sandbox.edit("scale.rs", "    x * factor", "    // An ordinary comment.\n    x * factor")
    assert sandbox.scons("arch=sm_90").rebuilt("exports")
    sandbox.edit("scale.rs", "x * factor", "let unused = 1;\n    factor * x + 1.0")
    run = sandbox.scons("arch=sm_90")
    assert run.rebuilt("exports", "ltoir", "library")
    assert re.search(r"warning: unused variable: `unused`\n +--> scale.rs:3:9", run.out)


def test_a_crate_is_a_source_and_two_folders_give_the_same_bytes(project: Callable[..., Sandbox]) -> None:
    files = {
        "SConstruct": HEAD + 'env.TileLibrary("twice", "twice")\n',
        "twice/Cargo.toml": '[package]\nname = "twice"\nversion = "0.1.0"\nedition = "2021"\n',
        "twice/src/lib.rs": ROOT_FILE,
        "twice/src/scale.rs": MODULE,
    }
    trees = []
    for name in ("here", "elsewhere"):
        sandbox = project(name, files)
        assert sandbox.scons("arch=sm_90").rebuilt("exports", "ltoir", "bytecode", "library")
        trees.append({path: sandbox.read(f"build/{path}") for path in sandbox.tree("build")})
    assert trees[0] == trees[1]
    assert any(path.endswith("twice.tilelib") for path in trees[0])
    sandbox.edit("twice/src/scale.rs", "x * factor", "factor * x + 1.0")
    assert sandbox.scons("arch=sm_90").rebuilt("exports", "ltoir", "library")


def test_halves_are_refused_with_the_switch_that_admits_them(project: Callable[..., Sandbox]) -> None:
    sandbox = project("halves", {"SConstruct": HEAD + 'env.TileLibrary("half", "half.rs")\n', "half.rs": HALF})
    refused = sandbox.scons("arch=sm_90")
    assert refused.code == 2
    assert "hint: write f32, or build with nightly_f16=1 (`--nightly-f16`)" in refused.err
    assert sandbox.scons("arch=sm_90", "nightly_f16=1").rebuilt("exports", "ltoir", "bytecode", "library")
    assert b"RUSTC_BOOTSTRAP=1" in sandbox.read("build/sm_90/half.ll")
    assert sandbox.scons("arch=sm_90").code == 2, "the switch is signed"
    assert sandbox.tilewright("build", "half.rs", "--arch", "sm_90").code == 1
    assert sandbox.tilewright("build", "half.rs", "--arch", "sm_90", "--nightly-f16").code == 0
    sandbox.edit("SConstruct", '"half.rs")', '"half.rs", nightly_f16=True)')
    assert sandbox.scons("arch=sm_90").code == 0


def caller(libraries: dict[str, list[dict[str, object]]]) -> str:
    """A Tile C++ kernel for each export of the descriptions."""
    lines = [f'#include "{name}_tile.h"' for name in libraries]
    lines.append("namespace ct = cuda::tiles;")
    span = "ct::partition_view{ct::tensor_span{data, ct::shape<128>{}}, ct::shape<128>{}}"
    lines.append(f"template <class T> __tile__ auto whole(T* data) {{ return {span}; }}")
    for library, exports in libraries.items():
        for export in exports:
            parameters = export["parameters"]
            assert isinstance(parameters, list)
            heads = ", ".join(f"{TYPES[one['element']]}* p{at}" for at, one in enumerate(parameters))
            tiles = ", ".join(f"whole(p{at}).load(0)" for at in range(len(parameters)))
            written = next(at for at, one in enumerate(parameters) if one["access"] != "in")
            call = f"whole(p{written}).store({library}::{export['name']}({tiles}), 0);"
            lines.append(f'extern "C" __tile_global__ void call_{export["name"]}({heads}) {{ {call} }}')
    return "\n".join(lines) + "\n"


@needs("g++")
@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_a_tile_cpp_caller_inlines_every_export_of_the_examples(
    arch: str, project: Callable[..., Sandbox], toolkit: Toolkit
) -> None:
    names = ("tilelib_relu_rust", "tilelib_math")
    files = {path.name: path.read_text(encoding="utf-8") for name in names for path in (EXAMPLES / name).glob("*.rs")}
    script = HEAD + "".join(f'{name} = env.TileLibrary("{name}", "{name}.rs")\n' for name in names)
    script += "".join(f"env.TileBindings({name})\n" for name in names)
    sandbox = project(f"callers_{arch}", {"SConstruct": script, **files})
    assert sandbox.scons(f"arch={arch}").code == 0
    descriptions = {name: json.loads(sandbox.read(f"build/{arch}/{name}.tileexports.json")) for name in names}
    exports = {name: description["exports"] for name, description in descriptions.items()}
    script += f'env.TileProgram("callers.cubin", "callers.cu", libraries=[{", ".join(names)}])\n'
    sandbox.write({"SConstruct": script, "callers.cu": caller(exports)})
    run = sandbox.scons(f"arch={arch}")
    assert run.rebuilt("program")
    assert "not inlined" not in run.out + run.err
    command = [toolkit.require("nvdisasm").path, "-c", sandbox.folder / "build" / arch / "callers.cubin"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    functions = re.split(r"^\.text\.(\w+):$", text, flags=re.MULTILINE)
    kernels = dict(zip(functions[1::2], functions[2::2], strict=True))
    names_of_exports = [str(export["name"]) for each in exports.values() for export in each]
    assert set(kernels) == {f"call_{name}" for name in names_of_exports}
    for name in names_of_exports:
        calls = re.findall(r"\bCALL\S* .*", kernels[f"call_{name}"])
        assert len(calls) == SLOW_PATHS.get(name, 0), (name, calls)
        assert all("div_rn_noftz_f32_slowpath" in call for call in calls)
