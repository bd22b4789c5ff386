"""The cuTile Python module: its text, its types, and what cuTile itself makes of a kernel that calls it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from callers.bindings.conftest import Build
from callers.bindings.samples import ANY, BOTH, RELU, SIX, TYPES, export, given, library, slot, updated
from tilewright.callers.bindings.cutile_python import OWN_NAMES, cutile_python_module
from tilewright.cli import main
from tilewright.exports.elements import ElementType
from tilewright.toolchain.toolkit import Toolkit

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "tile_caller" / "python" / "call_from_cutile.py"
RELU_SOURCE = (ROOT / "examples" / "tilelib_relu" / "tilelib_relu.cu").read_text(encoding="utf-8")


def text_of(*exports: object) -> str:
    return cutile_python_module(library(*exports)).decode()  # type: ignore[arg-type]


def test_a_wrapper_makes_the_slot_of_the_result_itself() -> None:
    text = text_of(RELU)
    assert text.startswith("# Written by `tilewright bindings` from sample.tileexports.json; do not edit.\n")
    wrapper = '''\
def relu(x: Tile) -> Tile:
    """Elementwise `max(x, 0)`.

    Tile: 128 elements. Each thread calls the implementation alone, once for the elements it owns.
    Reads: x. Writes: relu_out, a slot for the result; what it holds before does not matter.

    x: a tile of float32, in
    Returns: relu_out.
    """
    _results = _tp.foreign_call(
        tilelibs=(TILELIB,),
        symbol_name="relu",
        constant_params=(),
        inputs=(
            x,
            _ct.zeros((128,), dtype=_ct.float32),
        ),
        output_types=((_ct.float32, (128,)),),
    )
    return _results[0]
'''
    assert wrapper in text


def test_a_parametric_wrapper_passes_its_size_on() -> None:
    text = text_of(ANY)
    assert "def relu_any(x: Tile, N: int) -> Tile:" in text
    assert "constant_params=(N,)," in text
    assert "_ct.zeros((N,), dtype=_ct.float32)" in text
    assert "output_types=((_ct.float32, (N,)),)," in text


def test_several_results_are_a_tuple() -> None:
    text = text_of(BOTH)
    assert "def both(x: Tile, low: Tile, high: Tile) -> tuple[Tile, Tile]:" in text
    assert "return (_results[0], _results[1])" in text


def test_keywords_and_the_module_s_own_names_get_an_underscore() -> None:
    text = text_of(
        export("lambda", given("pass"), updated("None")), export("lambda_", given("_tp"), updated("_results"))
    )
    assert "def lambda_(pass_: Tile, None_: Tile) -> Tile:" in text
    assert "def lambda__(_tp_: Tile, _results_: Tile) -> Tile:" in text
    assert 'symbol_name="lambda",' in text


def test_the_list_of_own_names_is_what_the_module_defines() -> None:
    scope: dict[str, object] = {"__file__": "sample_tile.py"}
    exec(text_of(), scope)
    defined = {name for name in scope if not name.startswith("__")}
    assert defined <= OWN_NAMES


def test_it_is_importable_without_cutile(tmp_path: Path) -> None:
    (tmp_path / "sample_tile.py").write_bytes(cutile_python_module(library(RELU)))
    script = "import sample_tile; print(sample_tile.AVAILABLE, sample_tile.LIBRARY, sample_tile.relu.__name__)"
    command = [sys.executable, "-S", "-c", script]
    for environment, expected in (
        ({}, str(tmp_path / "sample.tilelib")),
        ({"TILEWRIGHT_sample_TILELIB": "/elsewhere/a.tilelib"}, "/elsewhere/a.tilelib"),
    ):
        done = subprocess.run(
            command, env={"PYTHONPATH": str(tmp_path), **environment}, capture_output=True, text=True, check=False
        )
        assert done.stdout == f"False {expected} relu\n", done.stderr


def test_hostile_doc_text_stays_in_its_docstring(tmp_path: Path) -> None:
    doc = '""" + __import__("os").abort() + """\nraw \\N{DASH} \\" and \\'
    text = text_of(export("f", given("x"), slot("f"), doc=doc))
    scope: dict[str, object] = {"__file__": "x.py"}
    exec(compile(text, "x.py", "exec"), scope)
    assert scope["f"].__doc__.startswith(doc.split("\n")[0])  # type: ignore[union-attr]
    assert 'raw \\N{DASH} \\" and \\' in scope["f"].__doc__  # type: ignore[operator]


def test_it_type_checks_in_strict_mode(tmp_path: Path) -> None:
    every = [export(f"id_{one.label}", given("x", one), slot(f"id_{one.label}", one)) for one in ElementType]
    (tmp_path / "sample_tile.py").write_bytes(cutile_python_module(library(RELU, BOTH, SIX, ANY, *every)))
    (tmp_path / "use.py").write_text(
        "from sample_tile import Tile, both, relu\n\n\ndef use(x: Tile) -> Tile:\n    return relu(both(x, x, x)[0])\n"
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "--config-file=",
        "sample_tile.py",
        "use.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (tmp_path / "use.py").write_text("from sample_tile import relu\nrelu()\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 'Missing positional argument "x"' in done.stdout


def test_the_dry_run_prints_the_two_lines_of_the_specification(built: Build, cutile: Callable[..., str]) -> None:
    folder = built("tilelib_relu", RELU_SOURCE)
    said = cutile(EXAMPLE, "--bindings", folder, "--dry-run").splitlines()
    assert re.fullmatch(r"bytecode: \d+ bytes, header 0d050100 \(version 13\.5, preview flag set\)", said[0])
    assert said[1:] == [
        "PASS: the caller side compiles; the program calls `relu` through preview$call (dry run, no cubin)"
    ]


def test_without_the_preview_package_the_example_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", EXAMPLE, "--bindings", tmp_path, "--dry-run"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "skipping: cuda is not installed\n")


def test_cutile_links_the_library_into_a_cubin(
    built: Build, cutile: Callable[..., str], tmp_path: Path, toolkit: Toolkit
) -> None:
    folder = built("tilelib_relu", RELU_SOURCE)
    cubin = tmp_path / "relu.cubin"
    said = cutile(EXAMPLE, "--bindings", folder, "--cubin", cubin, "--arch", "sm_90")
    assert f"{cubin} holds the kernel relu_tile for sm_90" in said
    shown = subprocess.run(
        [toolkit.require("nvdisasm").path, "-c", cubin], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"\bFMNMX\b", shown)
    assert not re.search(r"\bCALL\b", shown)


CALLS_EVERYTHING = """\
import sys
import cuda.tile as ct
from cuda.tile._bytecode.version import BytecodeVersion
from cuda.tile._compile import compile_tile
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature
import types_tile

WHOLE = 32


def kernel_of(wrapper, dtype, inputs, size):
    @ct.kernel
    def call(x):
        tile = ct.load(x, index=(0,), shape=(size,))
        ct.store(x, index=(0,), tile=body(tile))

    if inputs == 1:
        def body(tile):
            return wrapper(tile)
    elif inputs == 2:
        def body(tile):
            return wrapper(tile, tile)[0] + wrapper(tile, tile)[1]
    else:
        def body(tile):
            results = wrapper(tile, tile, tile, tile, tile)
            return results[0] + results[4]

    array = ArrayConstraint(dtype, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                            may_alias_internally=False, stride_constant=(1,))
    signature = KernelSignature([array], CallingConvention.cutile_python_v1(), "call")
    compiled = compile_tile(call._annotated_function, [signature], sm_arch="sm_90", return_bytecode=True,
                            bytecode_version=BytecodeVersion.V_13_5)
    return len(compiled.cubin)


for name in sys.argv[1:]:
    wrapper, dtype, inputs, size = name.split(":")
    print(wrapper, kernel_of(getattr(types_tile, wrapper), getattr(ct, dtype), int(inputs), int(size)) > 0)
"""


def test_cutile_compiles_a_call_of_every_element_type_and_of_several_results(
    built: Build, cutile: Callable[..., str], tmp_path: Path
) -> None:
    folder = built("types", TYPES)
    (folder / "calls.py").write_text(CALLS_EVERYTHING, encoding="utf-8")
    names = {"f": "float", "i": "int", "u": "uint"}
    cases = [f"id_{one.label}:{names[one.label[0]]}{one.size * 8}:1:32" for one in ElementType]
    cases += ["two:float32:2:64", "five:int32:5:64"]
    said = cutile(folder / "calls.py", *cases)
    assert said.split() == [word for case in cases for word in (case.partition(":")[0], "True")]


def test_the_command_writes_one_language_or_all(
    built: Build, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    description = str(built("tilelib_relu", RELU_SOURCE) / "tilelib_relu.tileexports.json")
    capsys.readouterr()
    assert main(["bindings", description, "-o", str(tmp_path), "--language", "cutile-rust"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["tilelib_relu_tile.rs"]
    assert capsys.readouterr().out == (
        f"cuTile Rust bindings written to {tmp_path}/tilelib_relu_tile.rs (generated, not compiled)\n"
    )
    assert main(["bindings", description, "-o", str(tmp_path), "--language", "cutile-pyton"]) == 1
    said = capsys.readouterr().err
    assert "no bindings are written for `cutile-pyton`" in said
    assert "did you mean `cutile-python`?" in said
