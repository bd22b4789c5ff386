"""Programs that do not link, each with the reason that the assembler keeps to itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from callers.program.callers import caller, parametric_caller
from callers.program.conftest import RELU, RELU_ANY, Build
from needed_tools import needs
from tilewright.callers.error import CallerError
from tilewright.callers.program.compilation import Program, compile_program
from tilewright.callers.program.libraries import check_libraries, read_libraries
from tilewright.problem import Problem
from tilewright.toolchain.toolkit import Toolkit

pytestmark = needs("g++")

DECLARED = "declared: relu(in tile<128xf32>, out tile<128xf32>)"


class Failing:
    """Compiles a caller that must not link, and gives the problems."""

    def __init__(self, folder: Path, toolkit: Toolkit) -> None:
        self.source = folder / "caller.cu"
        self.toolkit = toolkit

    def __call__(self, text: str, *libraries: Path, arch: str = "sm_90") -> tuple[Problem, ...]:
        self.source.write_text(text, encoding="utf-8")
        with pytest.raises(CallerError) as raised:
            compile_program(Program(self.source, libraries, arch, cubin=True), self.toolkit)
        return raised.value.problems


@pytest.fixture
def failing(tmp_path: Path, toolkit: Toolkit) -> Failing:
    return Failing(tmp_path, toolkit)


def explained(problems: tuple[Problem, ...]) -> Problem:
    """The one reason below the headline, which holds the command and what the tools printed."""
    headline, reason = problems
    assert "does not link with its tile libraries (exit code 5)" in headline.what
    assert "bin/nvcc --enable-tile --tile-preview simt" in headline.detail
    return reason


def test_an_undeclared_name(failing: Failing, relu: Path) -> None:
    problems = failing(caller("rely"), relu)
    assert problems[0].detail.endswith("error: failed to compile Tile IR program")
    reason = explained(problems)
    assert reason.what == "the program calls `rely`, which no library declares"
    assert reason.hint == f"did you mean `relu`?\ndeclared are: {relu}: relu"


def test_an_implementation_symbol_instead_of_the_declaration(failing: Failing, relu: Path) -> None:
    reason = explained(failing(caller("relu_impl"), relu))
    assert reason.hint == "`relu_impl` is an implementation symbol; call its declaration, `relu`"


def test_no_library_at_all(failing: Failing) -> None:
    assert explained(failing(caller("relu"))).what == "the program calls `relu`, and no library was given"


def test_a_wrong_tile_size(failing: Failing, relu: Path) -> None:
    reason = explained(failing(caller("relu", size=64), relu))
    assert reason.what == "`relu`: tiles 0, 1 are 64xf32, the declaration takes 128xf32 (another tile size)"
    assert (str(reason.where), reason.hint) == (str(relu), DECLARED)


def test_a_wrong_element_type(failing: Failing, relu: Path) -> None:
    reason = explained(failing(caller("relu", element="double"), relu))
    assert reason.what == "`relu`: tiles 0, 1 are 128xf64, the declaration takes 128xf32 (another element type)"


def test_both_wrong(failing: Failing, relu: Path) -> None:
    reason = explained(failing(caller("relu", element="int", size=256), relu))
    assert reason.what.endswith("(another tile size and another element type)")


def test_a_wrong_number_of_arguments(failing: Failing, relu: Path) -> None:
    reason = explained(failing(caller("relu", inputs=2), relu))
    assert reason.what == "`relu` is called with 3 tile(s), its declaration takes 2"
    assert reason.hint == f"{DECLARED}\nthe slot of a result is an argument too"


def test_another_architecture_list(failing: Failing, built: Build) -> None:
    library = built("listed", RELU.format(more=', arch = {"sm_100", "sm_120"}'))
    reason = explained(failing(caller("relu"), library))
    assert reason.what == "`relu` has no implementation for sm_90; its list of architectures is: sm_100, sm_120"
    assert 'add "sm_90" to the export\'s arch' in reason.hint


def test_a_missing_symbol(failing: Failing, relu: Path, repacked: Build) -> None:
    library = repacked(relu, 'extern "C" __device__ void other(float *x) { *x = 0; }\n')
    reason = explained(failing(caller("relu"), library))
    assert reason.what == "the library names the implementation `relu_impl`, and its device code does not define it"


def test_a_size_that_is_not_listed(failing: Failing, built: Build) -> None:
    library = built("sizes", RELU_ANY.replace("tile_export", "tile_export(tile_shapes = {64, 128})"))
    reason = explained(failing(parametric_caller("relu_any", 256), library))
    assert reason.what == (
        "`relu_any` is called for tiles of 256 elements, for which the library defines no `relu_any_impl__N256`"
    )
    assert reason.hint == (
        "the library has it for 64, 128; call one of these, or list 256 in the tile_shapes of the library and build it "
        "again"
    )


def test_a_parametric_export_called_without_its_size(failing: Failing, built: Build, repacked: Build) -> None:
    library = built("fixed", RELU_ANY + "[[tile_export(tile_shape = 128)]] __device__ void w(float& x) { x = 0; }\n")
    reason = explained(failing(caller("relu_any"), repacked(library, "")))
    assert reason.what == "`relu_any` is called with 0 constant argument(s); its declaration has: N"


def test_device_code_newer_than_the_target_is_named_among_older(failing: Failing, relu: Path, built: Build) -> None:
    newer = built("newer", "[[tile_export(tile_shape = 128)]] __device__ void twice(float& x) { x += x; }\n", "sm_120")
    (reason,) = failing(caller("relu"), relu, newer)
    assert reason.what == "the library's device code is LTOIR for compute_120, newer than sm_90"
    assert (str(reason.where), reason.hint) == (str(newer), "build the library for sm_90, or with an older ltoir_arch")


def test_a_library_of_a_newer_bytecode_version(failing: Failing, relu: Path, tmp_path: Path) -> None:
    library = tmp_path / "newer.tilelib"
    library.write_bytes(relu.read_bytes().replace(b"\x7fTileIR\0\x0d\x05", b"\x7fTileIR\0\x0d\x06"))
    (reason,) = failing(caller("relu"), library)
    assert reason.what.startswith(
        "the library is of bytecode version 13.6, newer than 13.5: an assembler reads preview"
    )
    assert reason.hint == "use the toolkit that built the library"


def test_a_library_of_an_older_bytecode_version(relu: Path, toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    newer = replace(toolkit, assembler=replace(toolkit.assembler, bytecode_versions=((13, 5), (13, 6))))
    (reason,) = check_libraries(read_libraries([relu]), "sm_90", newer)
    assert reason.what.startswith(
        "the library is of bytecode version 13.5, older than 13.6: an assembler reads preview"
    )
    assert reason.hint == "build the library again"


def test_two_libraries_that_declare_one_name(failing: Failing, relu: Path, built: Build) -> None:
    other = built("others", RELU.format(more=""))
    (reason,) = failing(caller("relu"), relu, other)
    assert reason.what == f"`relu` is declared by two libraries, {relu} and {other}"


def test_every_missing_library_is_named_at_once(failing: Failing, tmp_path: Path, relu: Path) -> None:
    (tmp_path / "late.tilelib.skipped").write_text("Tile library skipped: tileiras lists 13.4\n", encoding="utf-8")
    absent, skipped, bare = tmp_path / "absent.tilelib", tmp_path / "late.tilelib", relu.with_suffix("")
    first, second, third, folder = failing(caller("relu"), absent, skipped, bare, relu.parent)
    assert first.what == f"the library `{absent}` does not exist"
    assert second.what == f"the library `{skipped}` was skipped when it was built"
    assert second.detail == "Tile library skipped: tileiras lists 13.4"
    assert (third.what, third.hint) == (f"the library `{bare}` does not exist", f"write its whole path: {relu}")
    assert folder.what == f"the library `{relu.parent}` is a folder"


def test_a_file_that_is_no_library_and_one_given_twice(failing: Failing, tmp_path: Path, relu: Path) -> None:
    text = tmp_path / "text.tilelib"
    text.write_text("no", encoding="utf-8")
    wrong, twice = failing(caller("relu"), text, relu, relu)
    assert wrong.what == "this is not a tile library: it does not start with an ELF header"
    assert twice.what == f"the library `{relu}` is given twice"


def test_an_error_of_the_source_is_shown_as_nvcc_prints_it(failing: Failing, relu: Path) -> None:
    (only,) = failing("int main() { return missing; }\n", relu)
    assert only.what.startswith("nvcc could not compile")
    assert 'identifier "missing" is undefined' in only.detail


def test_a_source_that_does_not_exist(toolkit: Toolkit) -> None:
    with pytest.raises(CallerError, match=r"the source `gone\.cu` does not exist"):
        compile_program(Program(Path("gone.cu"), (), "sm_90"), toolkit)
