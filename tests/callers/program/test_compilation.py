"""Programs that compile: what comes out, what it depends on, and the warning about calls that were not inlined."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from callers.program.callers import caller, parametric_caller
from callers.program.conftest import RELU_ANY, Build
from needed_tools import needs
from tilewright.callers.launch.cubin import kernels_of
from tilewright.callers.program.compilation import Program, command_of, compile_program, program_identity
from tilewright.toolchain.toolkit import Toolkit

pytestmark = needs("g++")

TWO_LIBRARIES = """\
#include "relus_tile.h"
#include "twices_tile.h"
namespace ct = cuda::tiles;
extern "C" __tile_global__ void kernel(float* x) {
    auto view = ct::partition_view{ct::tensor_span{x, ct::shape<128>{}}, ct::shape<128>{}};
    auto tile = view.load(0);
    view.store(twices::twice(relus::relu(tile, tile)), 0);
}
int main() { return 7; }
"""


@pytest.fixture
def program(relu: Path, twice: Path, tmp_path: Path) -> Program:
    """A kernel that calls two libraries, with a host program around it."""
    source = tmp_path / "caller.cu"
    source.write_text(TWO_LIBRARIES, encoding="utf-8")
    return Program(source, (relu, twice), "sm_90", cubin=True, include=(relu.parent, twice.parent))


@pytest.mark.parametrize("arch", ["sm_90", "sm_120"])
def test_a_cubin_calls_two_libraries_and_inlines_both(arch: str, program: Program, toolkit: Toolkit) -> None:
    compiled = compile_program(Program(program.source, program.libraries, arch, True, program.include), toolkit)
    assert kernels_of(compiled.data, "caller.cubin") == ("kernel",)
    assert compiled.warnings == ()
    assert compiled.said == ""


def test_a_host_program_runs_and_the_same_inputs_give_the_same_bytes(
    program: Program, toolkit: Toolkit, tmp_path: Path
) -> None:
    whole = Program(program.source, program.libraries, "sm_90", False, program.include)
    compiled = compile_program(whole, toolkit)
    assert compiled.warnings == ()
    assert compile_program(whole, toolkit).data == compiled.data
    file = tmp_path / "caller"
    file.write_bytes(compiled.data)
    file.chmod(0o755)
    assert subprocess.run([file], check=False).returncode == 7


def test_the_command_is_one_to_paste(program: Program, toolkit: Toolkit, tmp_path: Path) -> None:
    made = tmp_path / "pasted.cubin"
    done = subprocess.run(command_of(program, toolkit, made), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert made.read_bytes() == compile_program(program, toolkit).data


def test_a_library_path_without_a_slash_gets_one(toolkit: Toolkit) -> None:
    program = Program(Path("caller.cu"), (Path("relus.tilelib"), Path("lib/other.tilelib")), "sm_90")
    command = command_of(program, toolkit, Path("caller"))
    assert "-Xtileiras=-l=./relus.tilelib" in command
    assert "-Xtileiras=-l=lib/other.tilelib" in command
    assert command[-3:] == ["-o", "caller", "caller.cu"]


def test_it_compiles_in_the_library_s_own_folder(
    program: Program, toolkit: Toolkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for library in program.libraries:
        Path(library.name).symlink_to(library)
    names = tuple(Path(library.name) for library in program.libraries)
    here = Program(Path("caller.cu"), names, "sm_90", True, program.include)
    assert compile_program(here, toolkit).warnings == ()


def test_paths_with_commas_and_spaces_are_no_trouble(relu: Path, toolkit: Toolkit, tmp_path: Path) -> None:
    folder = tmp_path / "a, b and c"
    folder.mkdir()
    library = folder / "relus.tilelib"
    library.symlink_to(relu)
    source = folder / "my caller.cu"
    source.write_text(caller("relu"), encoding="utf-8")
    assert compile_program(Program(source, (library,), "sm_90", True), toolkit).warnings == ()


def test_a_call_that_was_not_inlined_is_a_warning(
    relu: Path, repacked: Build, toolkit: Toolkit, tmp_path: Path
) -> None:
    wrong = 'extern "C" __device__ void relu_impl(double x, float *out) { *out = x > 0.0 ? x : 0.0; }\n'
    source = tmp_path / "caller.cu"
    source.write_text(caller("relu"), encoding="utf-8")
    for cubin in (True, False):
        text = caller("relu") + ("" if cubin else "int main() { return 0; }\n")
        source.write_text(text, encoding="utf-8")
        compiled = compile_program(Program(source, (repacked(relu, wrong),), "sm_90", cubin), toolkit)
        (warning,) = compiled.warnings
        assert warning.what == "`relu_impl` was linked in but not inlined: a CALL is left over"
        assert "the ABI of its description" in warning.hint


def test_a_call_of_the_compiler_s_own_is_no_warning(relu: Path, toolkit: Toolkit, tmp_path: Path) -> None:
    divides = caller("relu").replace("view.store(call(", "view.store(view.load(0) / call(")
    divides += 'extern "C" __tile_global__ void other(double* x) {\n    auto view = whole<double, 128>(x);\n'
    divides += "    view.store(view.load(0) / view.load(0), 0);\n}\n"
    source, cubin = tmp_path / "caller.cu", tmp_path / "caller.cubin"
    source.write_text(divides, encoding="utf-8")
    compiled = compile_program(Program(source, (relu,), "sm_90", True), toolkit)
    cubin.write_bytes(compiled.data)
    shown = subprocess.run([toolkit.require("nvdisasm").path, "-c", cubin], capture_output=True, text=True, check=True)
    assert "CALL" in shown.stdout
    assert compiled.warnings == ()


def test_a_size_that_a_static_library_has_links(
    built: Build, repacked: Build, toolkit: Toolkit, tmp_path: Path
) -> None:
    library = built("anys", RELU_ANY + "[[tile_export(tile_shape = 128)]] __device__ void w(float& x) { x = 0; }\n")
    code = (
        'extern "C" __device__ void relu_any_impl__N128(float x, float *out) { *out = x > 0.0f ? x : 0.0f; }\n'
        'extern "C" __device__ void w_impl(float *x) { *x = 0; }\n'
    )
    source = tmp_path / "caller.cu"
    source.write_text(parametric_caller("relu_any", 128), encoding="utf-8")
    assert compile_program(Program(source, (repacked(library, code),), "sm_90", True), toolkit).warnings == ()


def test_the_identity_names_versions_and_no_path(toolkit: Toolkit) -> None:
    identity = program_identity(toolkit)
    assert "nvcc 13.5" in identity
    assert "tileiras" in identity
    assert str(toolkit.root) not in identity
    assert program_identity(replace(toolkit, nvcc=None)).startswith("no nvcc; tileiras")
