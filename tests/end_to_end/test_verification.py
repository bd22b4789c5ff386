"""The aliases `verify` and `verify-emulate`, and linking device code."""

from __future__ import annotations

import json
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import RELU, Sandbox
from needed_tools import needs
from tilewright.cli.verify import VERB

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=["default", tilewright.scons.generate])
relu = env.TileLibrary("relu", "relu.cu")
mock = env.TileMockCaller(relu)
"""
DOUBLED = "import numpy\n\n\ndef relu(x):\n    return 2 * numpy.where(x > 0, x, numpy.float32(0))\n"
RUST = """\
use cuda_device::tile_export;

#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}
"""
BUNDLE = "build/sm_90/relu.verify.zip"
NO_DEVICE = {"CUDA_VISIBLE_DEVICES": ""}


@pytest.fixture
def verified(project: Callable[..., Sandbox]) -> Sandbox:
    return project("verified", {"SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": "#define LIMIT 0.0f\n"})


@needs("g++")
def test_every_export_passes_on_the_cpu_and_is_skipped_without_a_gpu(verified: Sandbox) -> None:
    plain = verified.scons("arch=sm_90")
    assert plain.rebuilt("exports", "ltoir", "bytecode", "library"), "nothing of it is built by default"

    run = verified.scons("arch=sm_90", "verify", **NO_DEVICE)
    assert run.code == 0, run
    assert run.steps == ["verification"]
    assert run.out.count("skipping: no CUDA device") == 1
    assert b"relu_impl" in verified.read("build/sm_90/relu.mock_caller.cu")
    with zipfile.ZipFile(verified.folder / BUNDLE) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert {"manifest.json", *manifest["sha256"]} == set(archive.namelist())

    emulated = verified.scons("arch=sm_90", "verify-emulate")
    assert emulated.code == 0, emulated
    assert emulated.steps == []
    assert "PASS relu: 128 elements through `relu_impl`" in emulated.out
    assert "SUCCESS: 1/1 tile exports verified through the native ABI, CPU-emulated" in emulated.out
    assert "SUCCESS: 1/1" in verified.scons("arch=sm_90", "verify-emulate").out, "it is said each time"
    assert verified.scons("arch=sm_90").up_to_date()
    shown = verified.tilewright("verify", BUNDLE, "--emulate")
    assert shown.code == 0
    assert shown.out in emulated.out, "the command says the same"

    (verified.folder / BUNDLE).write_bytes(verified.read(BUNDLE)[:-1])
    again = verified.scons("arch=sm_90", "verify-emulate")
    assert again.steps == ["verification"], "a damaged bundle is made again"
    assert again.code == 0
    assert verified.scons("arch=sm_90", "-c").code == 0
    assert verified.tree("build") == {}


@needs("g++")
def test_a_library_that_is_wrong_fails_and_the_others_are_still_verified(verified: Sandbox) -> None:
    verified.edit("SConstruct", "TileMockCaller(relu)", 'TileMockCaller(relu, reference="expected.py")')
    more = 'other = env.TileLibrary("other", "relu.cu")\nenv.TileMockCaller(other)\n'
    verified.write({"SConstruct": verified.read("SConstruct").decode() + more, "expected.py": DOUBLED})
    run = verified.scons("arch=sm_90", "verify-emulate", "-j1")
    assert run.code == 2
    assert "FAIL relu: " in run.out
    assert "FAILURE: 0/1 tile exports verified" in run.errors[0]
    assert "SUCCESS: 1/1" in run.out
    assert "the reference in expected.py" in run.out
    verified.edit("expected.py", "2 * ", "")
    fixed = verified.scons("arch=sm_90", "verify-emulate")
    assert fixed.steps == ["verification"]
    assert fixed.code == 0


@needs("g++")
def test_what_a_reference_reads_counts(verified: Sandbox) -> None:
    """A module that it imports makes the bundle again; a file that nothing names is refused, as is a hidden import."""
    verified.edit("SConstruct", "TileMockCaller(relu)", 'TileMockCaller(relu, reference="expected.py")')
    verified.write({"expected.py": "from factor import FACTOR\n\n\n" + DOUBLED.replace("2 *", "FACTOR *")})
    verified.write({"factor.py": "FACTOR = 1\n"})
    assert verified.scons("arch=sm_90", "verify-emulate").code == 0
    verified.write({"factor.py": "FACTOR = 2\n"})
    changed = verified.scons("arch=sm_90", "verify-emulate")
    assert (changed.code, changed.steps) == (2, ["verification"])
    assert "FAILURE: 0/1" in changed.errors[0]

    verified.edit("expected.py", "from factor import FACTOR\n", 'FACTOR = int(open("factor.txt").read())\n')
    verified.write({"factor.txt": "1"})
    hidden = verified.scons("arch=sm_90", "verify-emulate")
    assert hidden.code == 2
    assert (
        "expected.py: error: it read `factor.txt`, of which the build knows nothing [hidden-dependency]" in hidden.err
    )
    assert 'env.Depends(mock, "factor.txt")' in hidden.err
    verified.write({"SConstruct": verified.read("SConstruct").decode() + 'env.Depends(mock, "factor.txt")\n'})
    assert verified.scons("arch=sm_90", "verify-emulate").code == 0

    verified.edit("expected.py", 'FACTOR = int(open("factor.txt").read())', "import importlib")
    verified.edit("expected.py", "FACTOR *", 'importlib.import_module("factor").FACTOR *')
    assert "it read `factor.py`, of which" in verified.scons("arch=sm_90", "verify-emulate").err


@needs("g++")
def test_what_a_reference_reads_outside_the_top_folder_counts_but_its_own_temporary_files(
    verified: Sandbox, tmp_path: Path
) -> None:
    verified.edit("SConstruct", "TileMockCaller(relu)", 'TileMockCaller(relu, reference="expected.py")')
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "factor.txt").write_text("1")
    reading = f"""\
import pathlib
import tempfile

with tempfile.TemporaryDirectory() as folder:
    own = pathlib.Path(folder, "x")
    own.write_text(pathlib.Path({str(outside / "factor.txt")!r}).read_text())
    FACTOR = int(own.read_text())
"""
    verified.write({"expected.py": reading + "\n\n" + DOUBLED.replace("2 *", "FACTOR *")})
    refused = verified.scons("arch=sm_90", "verify-emulate")
    name = "../outside/factor.txt"
    assert f"expected.py: error: it read `{name}`, of which the build knows nothing" in refused.err
    assert f'env.Depends(mock, "{name}")' in refused.err
    script = verified.read("SConstruct").decode()
    verified.write({"SConstruct": script + f'env.Depends(mock, "{name}")\n'})
    assert verified.scons("arch=sm_90", "verify-emulate").code == 0
    (outside / "factor.txt").write_text("2")
    changed = verified.scons("arch=sm_90", "verify-emulate")
    assert (changed.code, changed.steps) == (2, ["verification"])


@needs("g++")
def test_two_references_get_each_the_module_beside_it_and_both_that_of_the_top_folder(verified: Sandbox) -> None:
    """Python puts the top folder on its path for `python -m SCons`, and not for the script `scons`."""
    folders = ("one", "two")
    calls = [
        f'env.TileMockCaller(env.TileLibrary("{name}", "relu.cu"), reference="{name}/expected.py")' for name in folders
    ]
    verified.write({"SConstruct": SCONSTRUCT.partition("relu = ")[0] + "\n".join(calls) + "\n"})
    for name, factor in zip(folders, (1, 2), strict=True):
        reference = "from factor import FACTOR\nfrom unit import ONE\n\n\n" + DOUBLED.replace("2 *", "ONE * FACTOR *")
        verified.write({f"{name}/expected.py": reference, f"{name}/factor.py": f"FACTOR = {factor}\n"})
    verified.write({"unit.py": "ONE = 1\n"})
    run = verified.scons("arch=sm_90", "verify-emulate", PYTHONSAFEPATH="1")
    assert run.out.count("SUCCESS: 1/1") == 1
    assert len(run.errors) == 1
    assert "two.verify.zip] FAILURE: 0/1 tile exports verified" in run.errors[0].replace(
        "verify-emulate:build/sm_90/", ""
    )
    assert not list(verified.folder.rglob("__pycache__"))


@needs("rustc")
def test_a_library_in_rust_is_held_against_its_own_functions(verified: Sandbox) -> None:
    verified.write({"relu.rs": RUST})
    verified.edit("SConstruct", '"relu.cu")', '"relu.rs")\nenv.TileNeeds(relu, "rustc")')
    run = verified.scons("arch=sm_90", "verify-emulate")
    assert run.code == 0, run
    assert "PASS relu: 128 elements" in run.out
    assert "compiled for the CPU by rustc" in run.out
    assert verified.scons("arch=sm_90", "verify-emulate").steps == []


def test_a_library_whose_compiler_is_missing_is_not_verified_and_fails_nothing(
    verified: Sandbox, tmp_path: Path
) -> None:
    verified.write({"relu.rs": RUST})
    verified.edit("SConstruct", '"relu.cu")', '"relu.rs")\nenv.TileNeeds(relu, "rustc")')
    run = verified.scons("arch=sm_90", "verify", RUSTC="", HOME=str(tmp_path), PATH=str(tmp_path))
    assert run.code == 0, run
    assert "tilewright: relu is not verified: " in run.out
    assert run.steps == []


@needs("g++")
def test_the_example_of_the_help_verifies_what_the_command_built(verified: Sandbox) -> None:
    assert verified.tilewright("build", "relu.cu", "--arch", "sm_90").code == 0
    run = verified.tilewright(*shlex.split(VERB.example)[1:])
    assert run.code == 0, run
    assert "SUCCESS: 1/1 tile exports verified through the native ABI, CPU-emulated" in run.out


def test_without_an_architecture_verifying_is_the_error_that_lists_the_choices(verified: Sandbox) -> None:
    for alias in ("verify", "verify-emulate"):
        run = verified.scons(alias)
        assert run.code == 2
        assert "`arch` is missing" in run.errors[0]


def test_device_code_is_linked_to_a_cubin_and_to_ptx(verified: Sandbox) -> None:
    script = (
        'code = relu["sm_90"].ltoir\n'
        'env.NvJitLink("out/relu.cubin", code, TILELIB_LINK_ARCH="sm_90", TILELIB_LINK_OPTIONS="-fma=0")\n'
        'env.NvJitLink("out/relu.ptx", code, TILELIB_LINK_ARCH="sm_90")\n'
    )
    verified.write({"SConstruct": SCONSTRUCT + script})
    assert verified.scons("arch=sm_90", "out").rebuilt("exports", "ltoir", "link")
    assert verified.read("out/relu.cubin").startswith(b"\x7fELF")
    assert b".target sm_90" in verified.read("out/relu.ptx")
    assert verified.scons("arch=sm_90", "out").up_to_date()
    verified.edit("SConstruct", "-fma=0", "-fma=1")
    again = verified.scons("arch=sm_90", "out")
    assert again.steps == ["link"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('env.NvJitLink("a.cubin", "b.ltoir")', "`NvJitLink` needs an architecture for `a.cubin`"),
        ('env.NvJitLink("a.o", "b.ltoir", TILELIB_LINK_ARCH="sm_90")', "`a.o` is no name for linked device code"),
        ('env.NvJitLink("a.ptx", "b.ltoir", TILELIB_LINK_ARCH="sm_42")', "=sm_42 is not known to nvJitLink"),
        ('env.TileMockCaller("relu.cu")', "`TileMockCaller` verifies what `TileLibrary` returns"),
    ],
)
def test_a_wrong_call_names_the_line_of_the_script(verified: Sandbox, call: str, words: str) -> None:
    verified.write({"SConstruct": SCONSTRUCT + call + "\n"})
    run = verified.scons("arch=sm_90")
    assert run.code == 2
    assert run.errors[0].startswith("SConstruct:7: error: ")
    assert words in run.errors[0]
    assert "Traceback" not in run.err
