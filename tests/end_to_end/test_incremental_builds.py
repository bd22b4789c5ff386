"""What a build makes, and what an edit makes it do again. One project sees many edits: every compilation costs."""

from __future__ import annotations

import os
from collections.abc import Callable

from end_to_end.sandbox import RELU, Sandbox

ARTIFACTS = {
    "relu.device.cu",
    "relu.iface.tilebc",
    "relu.impl.tilebc",
    "relu.ltoir",
    "relu.tileexports.json",
    "relu.tilelib",
    "relu.tilelib.mlir",
}
OUT = "build/sm_120"


def test_each_edit_redoes_only_what_depends_on_it(sandbox: Sandbox) -> None:
    first = sandbox.scons("arch=sm_120")
    assert first.rebuilt("exports", "ltoir", "bytecode", "library")
    assert sandbox.tree(OUT).keys() == ARTIFACTS
    for once in (
        "✓ Tile library descriptions written: 1 export(s), Tile IR 13.5 with the preview tag",
        f"Tile library written to {OUT}/relu.tilelib",
        f"--preview-implementation={OUT}/relu.ltoir -o {OUT}/relu.tilelib",
    ):
        assert first.out.count(once) == 1
    assert sandbox.scons("arch=sm_120").up_to_date()
    clean = sandbox.tree(OUT)

    os.utime(sandbox.folder / "relu.cu")
    os.utime(sandbox.folder / OUT / "relu.ltoir")
    assert sandbox.scons("arch=120").up_to_date(), "a new time stamp is no new content"

    sandbox.edit("relu.cu", "x : 0.0f", "x + 1.0f : 0.0f")
    assert sandbox.scons("arch=SM_120a").rebuilt("exports", "ltoir", "library"), "a body is in no description"
    edited = sandbox.tree(OUT)
    assert {name for name in ARTIFACTS if edited[name] != clean[name]} == {
        "relu.device.cu",
        "relu.ltoir",
        "relu.tilelib",
    }

    sandbox.edit("relu.cu", "x + 1.0f : 0.0f;", "x + 1.0f : 0.0f;  // plus one")
    assert set(sandbox.scons("arch=sm_120").steps) <= {"exports", "ltoir"}, "a comment changes no code"

    sandbox.edit("limit.cuh", "0.0f", "0.5f")
    header = sandbox.scons("arch=sm_120")
    assert header.rebuilt("exports", "ltoir", "library")
    assert sandbox.read(f"{OUT}/relu.ltoir") != edited["relu.ltoir"]

    sandbox.edit("relu.cu", "tile_shape = 128", "tile_shape = 64")
    assert sandbox.scons("arch=sm_120").rebuilt("exports", "ltoir", "bytecode", "library")
    assert b"tile<64xf32>" in sandbox.read(f"{OUT}/relu.tilelib.mlir")

    sandbox.write({"relu.cu": RELU, "limit.cuh": "#define LIMIT 0.0f\n"})
    assert sandbox.scons("arch=sm_120").code == 0
    assert sandbox.tree(OUT) == clean, "edits that were undone leave no trace"

    assert sandbox.scons("-c").code == 0
    assert sandbox.tree("build") == {}


def test_a_second_architecture_adds_its_own_folder_and_touches_no_other(sandbox: Sandbox) -> None:
    assert sandbox.scons("arch=sm_90").code == 0
    both = sandbox.scons("arch=sm_90,120", "-j4")
    assert sorted(both.steps) == sorted(["exports", "ltoir", "bytecode", "library"])
    assert both.out.count("Tile library written to build/sm_120/relu.tilelib") == 1
    trees = [sandbox.tree("build", arch) for arch in ("sm_90", "sm_120")]
    assert {name for name in ARTIFACTS if trees[0][name] != trees[1][name]} == {"relu.ltoir", "relu.tilelib"}
    older = sandbox.scons("arch=sm_90", "ltoir_arch=compute_75")
    assert older.rebuilt("ltoir", "library")
    newer = sandbox.scons("arch=sm_90", "ltoir_arch=sm_120")
    assert newer.code == 2
    assert "ltoir_arch=compute_120 is newer than arch=sm_90" in newer.errors[0]


def test_other_folders_and_parallel_steps_give_the_same_bytes(project: Callable[..., Sandbox]) -> None:
    names = [f"library{number}" for number in range(3)]
    sconstruct = "import tilewright.scons\nenv = Environment(tools=[tilewright.scons.generate])\n"
    files = {"a/limit.cuh": "#define LIMIT 1.0f\n", "b/limit.cuh": "#define LIMIT 2.0f\n"}
    for name in names:
        sconstruct += f'SConscript("{name}/SConscript", exports="env")\n'
        files[f"{name}/SConscript"] = f'Import("env")\nenv.TileLibrary("{name}", "{name}.cu")\n'
        folder = "a" if name == "library0" else "b"
        files[f"{name}/{name}.cu"] = RELU.replace('"limit.cuh"', f'"../{folder}/limit.cuh"')
    files["SConstruct"] = sconstruct
    one, other = project("one", files), project("deep/er/other", files)
    assert one.scons("arch=sm_120", "-j1").code == 0
    assert other.scons("arch=sm_120", "-j8").code == 0
    assert len(one.tree("build")) == 21
    assert one.tree("build") == other.tree("build")
    assert set(one.tree("build", "sm_120")) >= {f"{name}/{name}.tilelib" for name in names}
    assert one.scons("arch=sm_120").up_to_date()
    one.write({"build/sm_120/library1/library1.ltoir": "mine"})
    repaired = one.scons("arch=sm_120")
    assert repaired.rebuilt("ltoir"), "records are found from scripts in subfolders too"
    assert "Removed build/sm_120/library1/library1.ltoir:" in repaired.out
    assert one.tree("build") == other.tree("build")


def test_the_text_is_printed_after_the_build_also_when_nothing_is_done(sandbox: Sandbox) -> None:
    first = sandbox.scons("arch=sm_120", "print=1")
    again = sandbox.scons("arch=sm_120", "print=1")
    quiet = sandbox.scons("arch=sm_120")
    assert again.up_to_date()
    assert quiet.up_to_date(), "printing is in no signature"
    text = sandbox.read(f"{OUT}/relu.tilelib.mlir").decode()
    for run in (first, again):
        assert run.out.endswith("scons: done building targets.\n" + text)
    assert "cuda_tile.module" not in quiet.out
    dry = sandbox.scons("arch=sm_120", "print=1", "-n")
    assert "cuda_tile.module" not in dry.out


def test_verbose_shows_the_toolkit_and_the_compilers_command(sandbox: Sandbox) -> None:
    run = sandbox.scons("arch=sm_120", "verbose=1", "-n")
    assert run.code == 0
    assert "tilewright: nvrtc 13.5" in run.out
    assert "-dlto" in run.out
    assert "-arch=compute_120" in run.out
    assert "Compiling device code" not in run.out
