"""`tilewright build`: what it writes, prints and returns."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from cli.conftest import NINJA, SOURCE, Run, files_below
from needed_tools import needs
from tilewright.bytecode.reader import read_module
from tilewright.toolchain.toolkit import Toolkit

SUMMARY = "✓ Tile library descriptions written: 3 export(s), Tile IR 13.5 with the preview tag\n"
SUFFIXES = (".iface.tilebc", ".impl.tilebc", ".ltoir", ".tileexports.json", ".tilelib", ".tilelib.mlir")


def pack_line(program: str, folder: str, library: str = "") -> str:
    stem = f"{folder}/tilelib_relu"
    return (
        f"{program} --preview-create-tile-lib --preview-interface={stem}.iface.tilebc "
        f"--preview-implementation={stem}.impl.tilebc --preview-implementation={stem}.ltoir "
        f"-o {library or stem + '.tilelib'}\n"
    )


def test_the_six_artifacts_are_written_and_named(project: Path, run: Run, toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120")
    folder = "build/sm_120/tilelib_relu"
    assert outcome.code == 0, outcome.err
    assert outcome.out == (
        SUMMARY
        + pack_line(str(toolkit.assembler.path), folder)
        + f"Tile library written to {folder}/tilelib_relu.tilelib\n"
    )
    assert sorted(files_below(project / "build")) == [f"sm_120/tilelib_relu/tilelib_relu{each}" for each in SUFFIXES]
    description = json.loads((project / folder / "tilelib_relu.tileexports.json").read_bytes())
    assert [each["name"] for each in description["exports"]] == ["relu", "scale_in_place", "warp_sum"]


def test_print_shows_the_written_dump_first(project: Path, run: Run) -> None:
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", "--print")
    dump = (project / "build/sm_120/tilelib_relu/tilelib_relu.tilelib.mlir").read_text()
    assert dump.startswith("// tilelib_relu.iface.tilebc: the interface a cuTile program calls\n")
    assert outcome.out.startswith(dump + SUMMARY)


def test_two_architectures_are_built_into_two_folders(project: Path, run: Run) -> None:
    outcome = run("build", "tilelib_relu.cu", "--arch", "SM_90,120a")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("Tile library written to build/sm_90/") == 1
    assert outcome.out.count("Tile library written to build/sm_120/") == 1
    assert sorted(path.name for path in (project / "build").iterdir()) == ["sm_120", "sm_90"]


def test_the_device_code_may_be_older_than_the_library(project: Path, run: Run) -> None:
    outcome = run("build", "tilelib_relu.cu", "--arch", "90,120", "--ltoir-arch", "sm_75")
    assert outcome.code == 0, outcome.err
    for arch in ("sm_90", "sm_120"):
        shown = run("inspect", f"build/{arch}/tilelib_relu/tilelib_relu.tilelib").out
        assert "made for compute_75" in shown


def test_an_output_path_takes_the_other_artifacts_with_it(project: Path, run: Run, toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    outcome = run(
        "build", "tilelib_relu.cu", "--arch", "120", "-o", "out dir/kernels.tilelib", "--name", "tilelib_relu"
    )
    assert outcome.code == 0, outcome.err
    assert "--preview-interface=out dir/tilelib_relu.iface.tilebc'" in outcome.out
    assert outcome.out.endswith("Tile library written to out dir/kernels.tilelib\n")
    names = [*(f"tilelib_relu{suffix}" for suffix in SUFFIXES if suffix != ".tilelib"), "kernels.tilelib"]
    assert sorted(files_below(project / "out dir")) == sorted(names)


def test_two_folders_give_the_same_bytes(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("build", "tilelib_relu.cu", "--arch", "sm_90").code == 0
    other = project.parent / "a second, longer folder"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns("build"))
    monkeypatch.chdir(other)
    assert run("build", str(other / "tilelib_relu.cu"), "--arch", "sm_90").code == 0
    assert files_below(project / "build") == files_below(other / "build")


def test_an_old_assembler_skips_the_library_and_exits_2(project: Path, run: Run, old_assembler: Path) -> None:
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120")
    assert outcome.code == 2
    assert outcome.out == (
        f"{SUMMARY}Tile library skipped: {old_assembler} lists bytecode versions 13.1, 13.2, 13.3, 13.4; "
        "the descriptions need 13.5 or newer\n"
        "The installed tileiras cannot create tile libraries: the descriptions are Tile IR public-preview content, "
        "which exists from bytecode 13.5 on and needs the CUDA 13.5 or newer assembler.\n"
        "On CUDA 13.5 or newer, make the library from the written files with:\n  "
        + pack_line("tileiras", "build/sm_120/tilelib_relu")
    )
    written = files_below(project / "build/sm_120/tilelib_relu")
    assert sorted(written) == [f"tilelib_relu{suffix}" for suffix in SUFFIXES if suffix != ".tilelib"]
    assert read_module(written["tilelib_relu.iface.tilebc"], "interface").version == (13, 5)


def test_an_optional_library_that_is_skipped_exits_0(project: Path, run: Run, old_assembler: Path) -> None:
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", "--library-optional")
    assert outcome.code == 0
    assert "Tile library skipped: " in outcome.out


def test_a_library_of_an_earlier_build_is_pointed_out(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, toolkit: Toolkit
) -> None:
    words = ("build", "tilelib_relu.cu", "--arch", "sm_120")
    assert run(*words).code == 0
    monkeypatch.setattr(
        "tilewright.toolchain.toolkit.resolve", lambda environ: replace(toolkit, assembler=None, notes=())
    )
    outcome = run(*words)
    assert outcome.code == 2
    assert "Tile library skipped: no tileiras was found" in outcome.out
    assert "To install one: pip install" in outcome.out
    library = "build/sm_120/tilelib_relu/tilelib_relu.tilelib"
    assert outcome.err == f"note: {library} is of an earlier build, it does not hold what was written now\n"


def test_without_nvrtc_the_build_is_an_error(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, toolkit: Toolkit
) -> None:
    monkeypatch.setattr("tilewright.toolchain.toolkit.resolve", lambda environ: replace(toolkit, nvrtc=None))
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: NVRTC is missing" in outcome.err
    assert "hint: pip install" in outcome.err
    assert not (project / "build").exists()


def test_parametric_exports_are_left_out_and_named(project: Path, run: Run) -> None:
    (project / "mixed.cu").write_text(
        SOURCE + "[[tile_export]] __device__ float relu_any(float x) { return x > 0.f ? x : 0.f; }\n"
    )
    outcome = run("build", "mixed.cu", "--arch", "sm_120")
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[0].startswith("Left out of the static library: `relu_any` (no tile_shape, so the")
    assert outcome.out.splitlines()[0].endswith("; `--tile-shapes` or `--provider` ships them")
    assert outcome.out.splitlines()[1] + "\n" == SUMMARY
    description = json.loads((project / "build/sm_120/mixed/mixed.tileexports.json").read_bytes())
    assert "relu_any" in [each["name"] for each in description["exports"]]


def test_listed_sizes_are_shipped_and_the_interface_names_none(project: Path, run: Run) -> None:
    (project / "any.cu").write_text(
        "[[tile_export]] __device__ float relu_any(float x) { return x > 0.f ? x : 0.f; }\n"
        "[[tile_export(tile_shapes = {32})]] __device__ void twice_any(float& x) { x += x; }\n"
    )
    outcome = run("build", "any.cu", "--arch", "sm_120", "--tile-shapes", "128,64,128", "--print")
    assert outcome.code == 0, outcome.err
    assert "Left out" not in outcome.out
    assert "@relu_any<[N: index]>(%x: !cuda_tile.tile<[N]xf32>" in outcome.out
    assert "__N" not in outcome.out
    folder = project / "build/sm_120/any"
    description = json.loads((folder / "any.tileexports.json").read_bytes())
    assert [each["tile_shapes"] for each in description["exports"]] == [[64, 128], [32]]
    shown = run("inspect", str(folder / "any.tilelib"))
    assert (
        "@relu_any_impl implements @relu_any: each thread alone, every architecture, in tiles of 64, 128" in shown.out
    )
    assert "every architecture, in tiles of 32 elements" in shown.out
    record = json.loads(run("inspect", "--json", str(folder / "any.tilelib")).out)
    assert [each["tile_shapes"] for each in record["implementations"]] == [[64, 128], [32]]

    before = {kind: (folder / f"any.{kind}").read_bytes() for kind in ("iface.tilebc", "impl.tilebc", "ltoir")}
    assert run("build", "any.cu", "--arch", "sm_120", "--tile-shapes", "64,128,256").code == 0
    changed = {kind for kind, data in before.items() if (folder / f"any.{kind}").read_bytes() != data}
    assert changed == {"ltoir"}


MIXED = """\
[[tile_export(tile_shapes = {64})]] __device__ float relu_any(float x) { return x > 0.f ? x : 0.f; }
[[tile_export(tile_shape = 128)]] __device__ float twice(float x) { return x + x; }
"""


@needs("cc")
def test_the_provider_form_holds_all_exports(project: Path, run: Run) -> None:
    (project / "any.cu").write_text(MIXED)
    outcome = run("build", "any.cu", "--arch", "sm_120", "--provider", "--provider-abi", "observed", "--print")
    assert outcome.code == 0, outcome.err
    library = "build/sm_120/any/any.tilelib"
    assert "Left out" not in outcome.out
    assert "descriptions written: 2 export(s)" in outcome.out
    assert "--preview-implementation=build/sm_120/any/libany_provider.so -o" in outcome.out
    assert outcome.out.endswith(f"Tile library written to {library}\n")
    assert "@relu_any<[N: index]>" in outcome.out
    shown = json.loads(run("inspect", "--json", library).out)
    assert (shown["form"], [each["name"] for each in shown["declarations"]]) == ("provider", ["relu_any", "twice"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--provider"], "hint: --provider-abi observed builds against tilewright's own declaration of ABI 0.0.1"),
        (["--provider"], "error: the provider form needs the Tile IR compiler's linkage provider header"),
        (["--provider", "--provider-abi", "2"], "hint: the one to ask for is --provider-abi observed"),
        (["--provider-abi", "observed"], "hint: add --provider"),
    ],
)
def test_the_provider_form_has_to_be_asked_for_with_its_abi(
    project: Path, run: Run, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEIR_LINKAGE_PROVIDER_INCLUDE_DIR", raising=False)
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", *options)
    assert outcome.code == 1
    assert said in outcome.err
    assert not (project / "build").exists()


@needs("cc")
def test_without_a_c_compiler_there_is_no_provider_and_nothing_is_written(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilewright.library.provider.c_compiler.COMPILERS", ("no-such-compiler",))
    monkeypatch.delenv("CC", raising=False)
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", "--provider", "--provider-abi", "observed")
    assert outcome.code == 1
    assert "no C compiler was found" in outcome.err
    assert "pip install ziglang" in outcome.err
    assert not (project / "build").exists()


def test_an_assembler_that_cannot_pack_skips_a_provider(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, toolkit: Toolkit
) -> None:
    monkeypatch.setattr("tilewright.toolchain.toolkit.resolve", lambda environ: replace(toolkit, assembler=None))
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", "--provider", "--provider-abi", "observed")
    assert outcome.code == 2
    assert "Tile library skipped: no tileiras was found" in outcome.out
    assert "build it again" in outcome.out


@pytest.mark.parametrize(
    ("sizes", "said", "hint"),
    [
        ("64,100", "`100` is no tile size", "--tile-shapes 64,128"),
        ("64,,128", "`` is no tile size", "commas stand between them"),
        ("0", "`0` is no tile size", "a power of two up to 16777216"),
        ("33554432", "`33554432` is no tile size", "a power of two up to 16777216"),
        ("9" * 5000, "is no tile size", "a power of two"),
        ("16,64", "`sum_any`: the listed size 16 does not fill whole warps", "its own: `tile_shapes = {32, 64}`"),
    ],
)
def test_sizes_that_cannot_be(project: Path, run: Run, sizes: str, said: str, hint: str) -> None:
    (project / "any.cu").write_text('[[tile_export(sync = "warp")]] __device__ float sum_any(float x) { return x; }\n')
    outcome = run("build", "any.cu", "--arch", "sm_120", "--tile-shapes", sizes)
    assert outcome.code == 1
    assert said in outcome.err
    assert hint in outcome.err
    assert not (project / "build").exists()


def test_only_parametric_exports_make_no_static_library(project: Path, run: Run) -> None:
    (project / "any.cu").write_text("[[tile_export]] __device__ float relu_any(float x) { return x; }\n")
    outcome = run("build", "any.cu", "--arch", "sm_120")
    assert outcome.code == 1
    assert outcome.err.startswith("any.cu:1:")
    assert "the static library of `any` would be empty: no export has a tile size" in outcome.err
    assert "list sizes for the build, --tile-shapes 64,128\n" in outcome.err
    assert "every size: --provider\n" in outcome.err
    assert not (project / "build").exists()


def test_a_compiler_error_points_at_the_source_and_writes_nothing(project: Path, run: Run) -> None:
    (project / "bad.cu").write_text("[[tile_export(tile_shape = 128)]] __device__ float f(float x) { return y; }\n")
    outcome = run("build", "bad.cu", "--arch", "sm_120")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith('bad.cu:1:72: error: identifier "y" is undefined\n')
    assert "Traceback" not in outcome.err
    assert not (project / "build").exists()


def test_a_file_where_the_build_folder_should_be_is_one_error(project: Path, run: Run) -> None:
    (project / "build").write_text("mine")
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120")
    assert outcome.code == 1
    assert outcome.err.count("error: ") == 1
    assert "`build` is a file, and a folder is needed there\n  hint: move `build` away" in outcome.err
    assert (project / "build").read_text() == "mine"


def test_a_header_is_found_through_include(project: Path, run: Run) -> None:
    headers = project / "headers"
    headers.mkdir()
    (project / "lanes.cuh").rename(headers / "lanes.cuh")
    assert run("build", "tilelib_relu.cu", "--arch", "sm_120").code == 1
    outcome = run("build", "tilelib_relu.cu", "--arch", "sm_120", "--include", "headers")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("tilelib_relu.cu",),
            "error: --arch is required: the LTOIR inside a library is built for one architecture\n"
            "  hint: choices: sm_80, sm_86,",
        ),
        (
            ("tilelib_relu.cu", "--arch", "sm_91"),
            "error: `sm_91` is not an architecture that the toolkit offers\n  hint: did you mean --arch sm_90?\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "sm_90", "--ltoir-arch", "compute_100"),
            "error: --ltoir-arch compute_100 is newer than --arch sm_90, which could not use it\n"
            "  hint: --ltoir-arch compute_90 or older\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "sm_90", "--ltoir-arch", "compute_7"),
            "error: `compute_7` is not an architecture that the toolkit offers\n"
            "  hint: did you mean --ltoir-arch compute_",
        ),
        (
            ("tilelib_relu.cu", "--arch", "90,100", "-o", "x.tilelib"),
            "error: -o names one file, and 2 architectures are built: sm_90, sm_100\n"
            "  hint: leave -o out, or run once an architecture with its own -o\n",
        ),
        (
            ("my-lib.cu", "--arch", "90"),
            "error: the library name `my-lib` is not an ASCII identifier\n  hint: choose one: --name my_lib\n",
        ),
        (
            ("3d.cu", "--arch", "90"),
            "error: the library name `3d` is not an ASCII identifier\n  hint: choose one: --name lib_3d\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "90", "-o", "tilelib_relu.cu"),
            "error: `tilelib_relu.cu` is a source, the build would overwrite it\n"
            "  hint: give -o or --depfile a name that no source has\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "90", "-o", "lanes.cuh"),
            "error: `lanes.cuh` is a source, the build would overwrite it\n"
            "  hint: give -o or --depfile a name that no source has\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "90", "-o", "x", "--depfile", "./x"),
            "error: `x` would be written twice\n  hint: give -o and --depfile other names\n",
        ),
        (
            ("tilelib_relu.cu", "--arch", "90", "-o", "out/"),
            "error: -o names the folder `out/`\n  hint: name the file: -o out/tilelib_relu.tilelib\n",
        ),
        (("missing.cu", "--arch", "90"), "missing.cu: error: there is no file `missing.cu`"),
        (("relu.py", "--arch", "90"), "relu.py: error: Python sources are not supported yet"),
    ],
)
def test_a_wrong_request_is_one_error_and_writes_nothing(
    project: Path, run: Run, words: tuple[str, ...], expected: str
) -> None:
    before = files_below(project)
    outcome = run("build", *words)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(expected)
    assert files_below(project) == before


def test_an_export_that_the_library_can_never_serve_is_refused_before_anything_is_written(
    project: Path, run: Run
) -> None:
    source = project / "tilelib_relu.cu"
    (project / "one.cu").write_text(
        source.read_text().replace("tile_shape = 128", 'tile_shape = 128, arch = {"sm_90"}', 1)
    )
    before = files_below(project)
    outcome = run("build", "one.cu", "--arch", "120")
    assert (outcome.code, outcome.out) == (1, "")
    assert (
        "`relu` is for sm_90, which cannot use device code made for sm_120 [architecture-never-served]" in outcome.err
    )
    assert files_below(project) == before
    older = run("build", "one.cu", "--arch", "120", "--ltoir-arch", "90")
    assert older.code == 0, older.err
    unknown = (project / "one.cu").read_text().replace("sm_90", "sm_999")
    (project / "one.cu").write_text(unknown)
    assert "`relu`: the toolkit has no architecture `sm_999`" in run("build", "one.cu", "--arch", "120").err


def test_the_name_that_the_hint_proposes_works(project: Path, run: Run) -> None:
    (project / "tilelib_relu.cu").rename(project / "my-lib.cu")
    outcome = run("build", "my-lib.cu", "--arch", "90", "--name", "my_lib")
    assert outcome.code == 0, outcome.err
    assert "Tile library written to build/sm_90/my_lib/my_lib.tilelib" in outcome.out


def test_the_depfile_names_the_source_and_its_headers(project: Path, run: Run) -> None:
    assert run("build", "tilelib_relu.cu", "--arch", "90", "-o", "x/r.tilelib", "--depfile", "x/r.d").code == 0
    assert (project / "x/r.d").read_text() == (
        "x/r.tilelib: \\\n  tilelib_relu.cu \\\n  lanes.cuh\n\ntilelib_relu.cu:\n\nlanes.cuh:\n"
    )


def test_ninja_rebuilds_when_a_header_changes(project: Path, toolkit: Toolkit) -> None:
    (project / "build.ninja").write_text(
        "rule tilelib\n"
        f"  command = {sys.executable} -m tilewright build $in --arch sm_90 -o $out --depfile $out.d\n"
        "  depfile = $out.d\n"
        "build out/r.tilelib: tilelib tilelib_relu.cu\n"
    )
    package = str(Path(__file__).parents[2] / "tools")
    environment = {**os.environ, "PYTHONPATH": package}
    assert NINJA is not None, "the tests need the dev extra"

    def built() -> str:
        done = subprocess.run([NINJA, "-v"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "Tile library written to out/r.tilelib" in built()
    assert "no work to do" in built()
    header = project / "lanes.cuh"
    header.write_text(header.read_text() + "// changed\n")
    assert "Tile library written to out/r.tilelib" in built()
    assert "no work to do" in built()


def test_an_interrupt_while_packing_leaves_nothing_and_the_next_build_is_clean(
    project: Path, run: Run, tmp_path: Path
) -> None:
    slow = tmp_path / "tileiras"
    slow.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        '--version) echo "Cuda compilation tools, release 13.5, V13.5.1";;\n'
        "--list-versions) echo 13.5;;\n"
        "--help) echo sm_120;;\n"
        f"*) touch {tmp_path}/packing; exec sleep 60;;\n"
        "esac\n"
    )
    slow.chmod(0o755)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    package = str(Path(__file__).parents[2] / "tools")
    environment = {**os.environ, "PYTHONPATH": package, "CUTILE_TILEIRAS_PATH": str(slow), "TMPDIR": str(scratch)}
    command = [sys.executable, "-m", "tilewright", "build", "tilelib_relu.cu", "--arch", "sm_120"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as build:
        for _ in range(600):
            if (tmp_path / "packing").exists():
                break
            time.sleep(0.05)
        os.killpg(build.pid, signal.SIGINT)
        out, err = build.communicate(timeout=30)
    assert (build.returncode, out) == (130, b"")
    assert err.endswith(b"interrupted\n")
    assert b"Traceback" not in err
    assert not (project / "build").exists()
    assert list(scratch.iterdir()) == []
    assert run(*command[3:]).code == 0
