"""Bindings and programs in a build: what is made, what an edit rebuilds, what is refused and what is left out."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import LIMIT, RELU, Sandbox
from needed_tools import needs

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "relu.cu")
env.TileBindings(relu)
caller = env.TileProgram("caller.cubin", "caller.cu", libraries=[relu])
"""

CALLER = """\
#include "relu_tile.h"
#include "size.h"

namespace ct = cuda::tiles;

__tile__ auto whole(float* data) {
    return ct::partition_view{ct::tensor_span{data, ct::shape<kSize>{}}, ct::shape<kSize>{}};
}

extern "C" __tile_global__ void call_relu(float* x, float* result) {
    auto results = whole(result);
    results.store(relu::relu(whole(x).load(0), results.load(0)), 0);
}
"""

FILES = {
    "SConstruct": SCONSTRUCT,
    "relu.cu": RELU,
    "limit.cuh": LIMIT,
    "caller.cu": CALLER,
    "size.h": "constexpr unsigned kSize = 128;\n",
}
BINDINGS = {"relu_tile.h", "relu_tile.py", "relu_tile.rs"}
TOOLS_BUT_NO_COMPILER = ("sh", "cat", "rm", "ls")


@pytest.fixture
def caller(project: Callable[..., Sandbox]) -> Sandbox:
    return project("caller", FILES)


@pytest.fixture
def without_compiler(tmp_path: Path) -> dict[str, str]:
    """The PATH of a machine on which no C++ compiler is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS_BUT_NO_COMPILER:
        (folder / tool).symlink_to(shutil.which(tool) or "")
    return {"PATH": str(folder)}


@needs("g++")
@pytest.mark.parametrize("options", ["-Imore", "-I more", "-isystem=other,more", "--include-path more"])
def test_a_header_in_a_folder_that_only_an_option_names_is_followed(caller: Sandbox, options: str) -> None:
    (caller.folder / "size.h").unlink()
    caller.write({"more/size.h": '#include "deep.h"\n', "more/deep.h": FILES["size.h"]})
    caller.edit("SConstruct", "[relu])", f"[relu], options={options!r})")
    assert "program" in caller.scons("arch=sm_120").steps
    assert caller.scons("arch=sm_120").up_to_date()
    caller.edit("more/deep.h", "kSize = 128", "kSize = 64 * 2")
    assert caller.scons("arch=sm_120").rebuilt("program")


@needs("g++")
def test_a_program_follows_the_library_and_its_headers_and_the_bindings_only_the_description(caller: Sandbox) -> None:
    clean = caller.scons("arch=sm_120")
    assert clean.rebuilt("exports", "ltoir", "bytecode", "library", "bindings", "program")
    assert clean.steps.count("bindings") == clean.steps.count("program") == 1
    assert BINDINGS | {"caller.cubin"} <= caller.tree("build", "sm_120").keys()
    before = caller.tree("build", "sm_120")
    assert caller.scons("arch=sm_120").up_to_date()

    caller.edit("limit.cuh", "0.0f", "0.5f")
    assert caller.scons("arch=sm_120").rebuilt("exports", "ltoir", "library", "program"), "a body"
    after = caller.tree("build", "sm_120")
    assert {name for name in after if after[name] != before[name]} == {"relu.ltoir", "relu.tilelib", "caller.cubin"}

    caller.edit("size.h", "128", "4 * 32")
    assert caller.scons("arch=sm_120").rebuilt("program"), "a header of the program"
    caller.edit("SConstruct", "[relu])", '[relu], options="-O2")')
    assert caller.scons("arch=sm_120").rebuilt("program"), "the compiler's options"
    assert caller.scons("arch=sm_120").up_to_date()
    assert caller.scons("arch=sm_120", "-c").code == 0
    assert caller.tree("build") == {}


@needs("g++")
def test_a_host_program_is_executable_and_two_architectures_are_two_programs(caller: Sandbox) -> None:
    caller.edit("SConstruct", '"caller.cubin"', '"caller"')
    caller.edit("SConstruct", "caller = ", "program = ")
    caller.write({"caller.cu": CALLER + '#include <cstdio>\nint main() { std::puts("hello"); }\n'})
    assert caller.scons("arch=sm_90,sm_120").rebuilt("exports", "ltoir", "bytecode", "library", "bindings", "program")
    for arch in ("sm_90", "sm_120"):
        program = caller.folder / "build" / arch / "caller"
        assert subprocess.run([program], capture_output=True, text=True, check=True).stdout == "hello\n"
    assert caller.scons("arch=sm_90,sm_120").up_to_date()


@needs("g++")
def test_in_a_variant_folder_the_users_own_source_is_compiled(project: Callable[..., Sandbox]) -> None:
    files = {f"sub/{name}": text for name, text in FILES.items() if name != "SConstruct"}
    head, body = SCONSTRUCT.split("relu = ")
    files["SConstruct"] = head + 'SConscript("sub/SConscript", exports="env", variant_dir="out")\n'
    files["sub/SConscript"] = 'Import("env")\nrelu = ' + body
    odd = project("odd $x ü, folder", files)
    assert odd.scons("arch=sm_90", "-j8").rebuilt("exports", "ltoir", "bytecode", "library", "bindings", "program")
    assert "caller.cubin" in odd.tree("out", "sm_90")
    odd.edit("SConstruct", 'variant_dir="out"', 'variant_dir="out", duplicate=0')
    assert odd.scons("arch=sm_90").up_to_date()
    odd.edit("sub/size.h", "128", "4 * 32")
    assert odd.scons("arch=sm_90").rebuilt("program")


@needs("g++")
def test_two_libraries_that_declare_one_name_are_refused_by_both_names(caller: Sandbox) -> None:
    caller.edit("SConstruct", "caller = ", 'again = env.TileLibrary("again", "relu.cu")\ncaller = ')
    caller.edit("SConstruct", "[relu]", "[relu, again]")
    run = caller.scons("arch=sm_120")
    assert run.code == 2
    assert (
        "`relu` is declared by two libraries, build/sm_120/relu.tilelib and build/sm_120/again.tilelib" in run.errors[0]
    )
    assert "caller.cubin" not in caller.tree("build", "sm_120")


@needs("g++")
def test_a_header_that_nobody_writes_is_an_error_that_names_the_builder(caller: Sandbox) -> None:
    caller.edit("SConstruct", "env.TileBindings(relu)\n", "")
    run = caller.scons("arch=sm_120")
    assert run.code == 2
    assert "relu_tile.h: No such file" in run.errors[0]
    assert "hint: env.TileBindings(relu) writes it" in run.errors[0]
    assert "Traceback" not in run.err


@pytest.mark.parametrize("script", ["", "Default(caller)\n", "Alias('all', [relu, caller])\nDefault('all')\n"])
def test_without_a_host_compiler_a_program_leaves_the_default_targets_with_one_line(
    caller: Sandbox, without_compiler: dict[str, str], script: str
) -> None:
    caller.write({"SConstruct": SCONSTRUCT + script})
    run = caller.scons("arch=sm_120", **without_compiler)
    assert run.code == 0, run
    assert run.out.count("is left out") == 1
    assert (
        "tilewright: caller.cubin is left out: nvcc has no host compiler: there is no gcc and no g++ on PATH\n"
        in run.out
    )
    assert "program" not in run.steps
    assert "caller.cubin" not in caller.tree()


@pytest.mark.parametrize("asked", ["build/sm_120/caller.cubin", "programs", "copy"])
def test_without_a_host_compiler_whoever_asks_for_the_program_gets_the_reason(
    caller: Sandbox, without_compiler: dict[str, str], asked: str
) -> None:
    uses = 'Alias("programs", caller)\nenv.Install("copy", caller["sm_120"])\nDefault(relu)\n'
    caller.write({"SConstruct": SCONSTRUCT + uses})
    for _ in range(2):
        run = caller.scons("arch=sm_120", asked, **without_compiler)
        assert run.code == 2
        assert "cannot be made here" in run.errors[0]
        assert "nvcc has no host compiler: there is no gcc and no g++ on PATH" in run.errors[0]
        assert "hint: install gcc and g++" in run.errors[0]
        assert "is left out" not in run.out
        assert "Traceback" not in run.err
    assert caller.scons("arch=sm_120", **without_compiler).code == 0


def test_what_needs_a_program_that_was_left_out_is_an_error_in_a_default_run(
    caller: Sandbox, without_compiler: dict[str, str]
) -> None:
    caller.write({"SConstruct": SCONSTRUCT + 'env.Install("copy", caller)\n'})
    run = caller.scons("arch=sm_120", **without_compiler)
    assert run.code == 2
    assert "copy/caller.cubin needs build/sm_120/caller.cubin, which cannot be made here" in run.errors[0]


def test_without_nvcc_a_program_leaves_the_default_targets_too(caller: Sandbox) -> None:
    lacking = (
        "import dataclasses\nimport tilewright.scons\nimport tilewright.toolchain.toolkit as toolkit\n\n"
        "resolve = toolkit.resolve\n"
        "toolkit.resolve = lambda environ: dataclasses.replace(resolve(environ), nvcc=None)\n"
    )
    caller.edit("SConstruct", "import tilewright.scons\n", lacking)
    run = caller.scons("arch=sm_120")
    assert run.code == 0
    assert "tilewright: caller.cubin is left out: nvcc is missing" in run.out
    named = caller.scons("arch=sm_120", "build/sm_120/caller.cubin")
    assert named.code == 2
    assert "pip install" in named.errors[0]


def test_a_folder_is_built_without_what_was_left_out(caller: Sandbox, without_compiler: dict[str, str]) -> None:
    run = caller.scons("arch=sm_120", "build", **without_compiler)
    assert run.code == 0
    assert run.out.count("caller.cubin is left out") == 1
    assert "relu.tilelib" in caller.tree("build", "sm_120")


@needs("g++")
def test_a_compiler_that_comes_back_makes_the_program(caller: Sandbox, without_compiler: dict[str, str]) -> None:
    assert caller.scons("arch=sm_120", **without_compiler).code == 0
    assert caller.scons("arch=sm_120").rebuilt("program")


def test_a_skipped_library_takes_its_program_out_of_the_default_targets_and_is_quoted_when_it_is_named(
    caller: Sandbox, old_assembler: Path
) -> None:
    old = {"CUTILE_TILEIRAS_PATH": str(old_assembler)}
    arguments = ("arch=sm_120", "library_optional=1")
    run = caller.scons(*arguments, **old)
    assert run.code == 0, run
    assert "tilewright: caller.cubin is left out: it needs relu.tilelib, which was skipped\n" in run.out
    named = caller.scons(*arguments, "build/sm_120/caller.cubin", **old)
    assert named.code == 2
    assert "needs relu.tilelib, which was skipped:\nTile library skipped: " in named.errors[0]
    strict = caller.scons("arch=sm_120", **old)
    assert strict.code == 2
    assert "relu.tilelib was skipped, as told above" in strict.errors[0]
    assert "program" not in strict.steps


def test_a_library_that_is_not_there_is_named(caller: Sandbox) -> None:
    caller.edit("SConstruct", "[relu]", '"other/absent.tilelib"')
    run = caller.scons("arch=sm_120", "build/sm_120/caller.cubin")
    assert run.code == 2
    assert "other/absent.tilelib" in run.errors[0]
    caller.write({"other/absent.tilelib.skipped": "Tile library skipped: no tileiras was found\n"})
    run = caller.scons("arch=sm_120")
    assert run.code == 2
    assert run.errors[0].startswith("SConstruct:7: error: the library `other/absent.tilelib` was skipped when it was")
    assert "Tile library skipped: no tileiras was found" in run.errors[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('env.TileProgram("a/b", "caller.cu")', "`a/b` cannot name a tile program"),
        ('env.TileProgram("b", ["caller.cu", "relu.cu"])', "the program `b` has 2 sources"),
        ('env.TileProgram("b", "caller.cu", archs="sm_90")', "`TileProgram` takes no `archs`"),
        ('env.TileProgram("caller.cubin", "caller.cu", options="-O1")', "two programs `caller.cubin` in one folder"),
        (
            'env.TileProgram("b", "caller.cu", libraries=relu, arch="sm_90")',
            "the library `relu` is not built for `sm_90`",
        ),
        ('env.TileBindings("relu.cu")', "`relu.cu` is no description of a tile library"),
        ('caller["sm_90"]', "`caller.cubin` is not built for `sm_90`"),
    ],
)
def test_a_wrong_call_names_the_line_of_the_script(caller: Sandbox, call: str, words: str) -> None:
    caller.write({"SConstruct": SCONSTRUCT + call + "\n"})
    run = caller.scons("arch=sm_120")
    assert run.code == 2
    assert run.errors[0].startswith("SConstruct:8: error: ")
    assert words in run.errors[0]
    assert "Traceback" not in run.err


def test_without_an_architecture_a_program_and_bindings_are_the_error_that_lists_the_choices(caller: Sandbox) -> None:
    caller.write({"SConstruct": SCONSTRUCT + 'Default(caller)\nenv.Install("copy", caller["sm_120"])\n'})
    for target in ("", "build/sm_120/caller.cubin", "copy"):
        run = caller.scons(*target.split())
        assert run.code == 2
        assert "`arch` is missing" in run.errors[0]
    assert caller.scons("-h").code == caller.scons("-c").code == 0


def test_bindings_of_a_stored_description_need_no_compiler(plain: Sandbox) -> None:
    plain.write({"SConstruct": plain.read("SConstruct").decode().split("env.TileBytecode")[0]})
    plain.write({"SConstruct": plain.read("SConstruct").decode() + 'env.TileBindings("plain.tileexports.json")\n'})
    assert plain.scons().rebuilt("bindings")
    assert {"plain_tile.h", "plain_tile.py", "plain_tile.rs"} <= plain.tree().keys()
    plain.edit("plain.tileexports.json", '"library": "plain"', '"library": "other"')
    run = plain.scons()
    assert run.code == 2
    assert "the description is of the library `other`" in run.errors[0]


def test_targets_that_need_a_missing_program_are_left_out(caller: Sandbox) -> None:
    script = 'env.TileNeeds(env.Command("x.txt", [], "no-such-program-here > $TARGET"), "no-such-program-here")\n'
    caller.write({"SConstruct": SCONSTRUCT.split("relu = ")[0] + script})
    run = caller.scons()
    assert run.code == 0
    assert "tilewright: x.txt is left out: there is no no-such-program-here on PATH\n" in run.out
    named = caller.scons("x.txt")
    assert named.code == 2
    assert "x.txt cannot be made here" in named.errors[0]
    present = script.replace("no-such-program-here", "cat").replace("cat >", "cat /dev/null >")
    caller.write({"SConstruct": SCONSTRUCT.split("relu = ")[0] + present})
    assert caller.scons().code == 0
    assert (caller.folder / "x.txt").exists()


def test_a_library_whose_compiler_is_missing_is_left_out_with_all_that_needs_it(
    caller: Sandbox, tmp_path: Path
) -> None:
    source = "#[tile_export(tile_shape = 128)]\npub fn relu(x: f32) -> f32 { x.max(0.0) }\n"
    caller.write({"relu.rs": source})
    caller.edit("SConstruct", '"relu.cu")', '"relu.rs")\nenv.TileNeeds(relu, "rustc")')
    nothing = {"RUSTC": "", "HOME": str(tmp_path), "PATH": os.pathsep.join(_paths_without("rustc"))}
    run = caller.scons("arch=sm_120", **nothing)
    assert run.code == 0, run
    assert run.steps == []
    assert "tilewright: relu is left out: " in run.out
    assert "tilewright: the bindings of relu is left out" not in run.out
    assert "rustc" in run.out
    named = caller.scons("arch=sm_120", "build/sm_120/relu.tilelib", **nothing)
    assert named.code == 2
    assert "cannot be made here" in named.errors[0]


def _paths_without(program: str) -> list[str]:
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return [folder for folder in folders if not os.path.exists(os.path.join(folder, program))]
