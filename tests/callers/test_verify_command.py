"""`tilewright verify` and `tilewright probe` as a user runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from callers.libraries import SPECIFICATION, cuda_library, ltoir_of
from needed_tools import needs
from tilewright.cli import main
from tilewright.device.workers import Workers
from tilewright.exports.description import write_description
from tilewright.toolchain.toolkit import Toolkit

TOOLS = str(Path(__file__).parents[2] / "tools")
HAS_DRIVER = any(Path(folder, "libcuda.so.1").exists() for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64"))
without_gpu = pytest.mark.skipif(HAS_DRIVER, reason="this machine has a CUDA driver")


class Outcome(NamedTuple):
    """What a command returned and printed."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, toolkit: Toolkit, workers: Workers) -> dict[str, bytes]:
    """The files of a built library."""
    folder = tmp_path_factory.mktemp("made")
    library = cuda_library(folder, SPECIFICATION, "relu")
    text = "// Written by tilewright from relu.cu; do not edit.\n" + library.module.text.split("\n", 1)[1]
    return {
        "relu.cu": SPECIFICATION.encode(),
        "relu.tileexports.json": write_description(library.exports),
        "relu.device.cu": text.encode(),
        "relu.ltoir": ltoir_of(library, "sm_90", toolkit, workers),
    }


@pytest.fixture
def project(made: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, data in made.items():
        (tmp_path / name).write_bytes(data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> Outcome:
        capsys.readouterr()
        code = main(list(words))
        return Outcome(code, *capsys.readouterr())

    return call


@needs("g++")
def test_a_description_is_verified_on_the_cpu(project: Path, run: Run) -> None:
    outcome = run("verify", "relu.tileexports.json", "--emulate", "--seed", "5")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[1] == "note: inputs of seed 5"
    assert [line.split(":")[0] for line in lines[-4:-1]] == ["PASS relu", "PASS scale_in_place", "PASS warp_sum"]
    assert lines[-4].startswith("PASS relu: 128 elements through `relu_impl`, a ramp from -4 to 4, ")
    assert lines[-1].startswith("SUCCESS: 3/3 tile exports verified through the native ABI, CPU-emulated (")


@needs("g++")
def test_seeds_are_fresh_and_recorded(project: Path, run: Run) -> None:
    seeds = {json.loads(run("verify", "relu.tileexports.json", "--emulate", "--json").out)["seed"] for _ in range(2)}
    assert len(seeds) == 2


@without_gpu
def test_without_a_gpu_it_is_skipped(project: Path, run: Run) -> None:
    outcome = run("verify", "relu.tileexports.json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("skipping: no CUDA device")
    assert "skipped" in json.loads(run("verify", "relu.tileexports.json", "--json").out)


@needs("g++")
@without_gpu
def test_a_bundle_is_written_for_another_machine(project: Path, run: Run) -> None:
    outcome = run("verify", "relu.tileexports.json", "--arch", "sm_90", "-o", "bundle.zip", "--seed", "5")
    assert outcome.out.startswith("skipping: no CUDA device")
    assert (project / "bundle.zip").is_file()
    assert run("verify", "bundle.zip").out.startswith("skipping: no CUDA device")
    emulated = run("verify", "bundle.zip", "--emulate", "--json")
    record = json.loads(emulated.out)
    assert (emulated.code, record["passed"], record["total"], record["arch"]) == (0, 3, 3, "sm_90")
    assert record["manifest_sha256"]
    assert record["emulated"] == "the caller and the library's CUDA C++, both compiled for the CPU"


@needs("g++")
@without_gpu
def test_the_runner_works_where_the_tools_are_not_installed(project: Path, run: Run) -> None:
    run("verify", "relu.tileexports.json", "--arch", "sm_90", "-o", "bundle.zip")
    script = (
        "import sys\n"
        "for name in ('msgspec', 'jinja2', 'llvmlite', 'tree_sitter', 'SCons'): sys.modules[name] = None\n"
        "from tilewright.cli import main\n"
        "sys.exit(main(['verify', 'bundle.zip']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": TOOLS}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipping: no CUDA device")


@needs("g++")
def test_a_wrong_library_fails(project: Path, run: Run) -> None:
    text = (project / "relu.device.cu").read_text()
    (project / "relu.device.cu").write_text(text.replace("*relu_out = ", "*relu_out = -"))
    outcome = run("verify", "relu.tileexports.json", "--emulate")
    assert outcome.code == 1
    assert "\nFAIL relu: `relu_out`: element 0 is 0x80000000 (-0), expected 0x00000000 (0)" in outcome.out
    assert "\nFAILURE: 2/3 tile exports verified through the native ABI, CPU-emulated (" in outcome.out


@needs("g++")
def test_the_users_own_source_will_do(project: Path, run: Run) -> None:
    (project / "relu.device.cu").unlink()
    outcome = run("verify", "relu.tileexports.json", "--emulate", "--source", "relu.cu")
    assert (outcome.code, outcome.err) == (0, "")


def test_a_source_of_other_exports_is_refused(project: Path, run: Run) -> None:
    (project / "other.cu").write_text(SPECIFICATION.replace("tile_shape = 128", "tile_shape = 64"))
    outcome = run("verify", "relu.tileexports.json", "--emulate", "--source", "other.cu")
    assert outcome == (
        1,
        "",
        "error: the exports of `other.cu` are not those of the description\n"
        "  hint: build the library again, or name the source it was built from\n",
    )


def test_without_a_source_every_export_needs_a_reference(project: Path, run: Run) -> None:
    (project / "relu.device.cu").unlink()
    outcome = run("verify", "relu.tileexports.json", "--arch", "sm_90", "-o", "bundle.zip")
    assert outcome.code == 1
    assert "`relu`: nothing gives its expected values: the source of the device code is not known" in outcome.err
    (project / "references.py").write_text(
        "import numpy as np\n"
        "def relu(x): return np.where(x > 0, x, np.float32(0))\n"
        "def scale_in_place(x, factor): return x * factor\n"
        "def warp_sum(x):\n"
        "    x = x.reshape(-1, 32)\n"
        "    for step in (16, 8, 4, 2, 1): x = x + x[:, np.arange(32) ^ step]\n"
        "    return x.reshape(-1)\n"
    )
    (project / "relu.device.cu").write_bytes(b"")
    (project / "relu.device.cu").unlink()
    assert (
        run("verify", "relu.tileexports.json", "--arch", "sm_90", "-o", "b", "--reference", "references.py").code == 0
    )
    emulated = run("verify", "b", "--emulate")
    assert "the bundle of `relu` carries no source that could run on the CPU" in emulated.err


@needs("g++")
def test_a_reference_agrees_with_the_function(project: Path, run: Run) -> None:
    (project / "references.py").write_text(
        "import numpy as np\ndef relu(x): return np.where(x > 0, x, np.float32(0))\n"
    )
    outcome = run("verify", "relu.tileexports.json", "--emulate", "--reference", "references.py")
    assert outcome.code == 0
    assert "note: expected values of relu: the reference in references.py\n" in outcome.out
    assert (
        "note: expected values of scale_in_place, warp_sum: the function itself compiled for the CPU by " in outcome.out
    )


def test_references_that_do_not_run(project: Path, run: Run) -> None:
    (project / "references.py").write_text("import nothing_of_that_name\n")
    outcome = run("verify", "relu.tileexports.json", "--emulate", "--reference", "references.py")
    assert outcome.err.startswith("references.py: error: the references cannot be read: ModuleNotFoundError: ")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("verify", "relu.cu"), "error: `relu.cu` is neither a verification bundle nor a description\n"),
        (("verify", "relu.tileexports.json", "--emulate", "--seed", "x"), "error: `x` is no seed\n"),
        (("probe", "relu.ltoir"), "error: `tilewright probe` needs a description: --exports FILE\n"),
        (
            ("verify", "gone.zip"),
            "gone.zip: error: no verification bundle: No such file or directory\n",
        ),
        (("verify", "."), "error: `.` is neither a verification bundle nor a description\n"),
        (
            ("verify", "b.zip", "--seed", "1"),
            "error: a bundle is run as it is: --seed can be given with a description only\n",
        ),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], expected: str, project: Path, run: Run) -> None:
    outcome = run(*words)
    assert outcome.code == 1
    assert outcome.err.startswith(expected)


def test_a_probe_says_what_it_saw_and_what_it_cannot_see(project: Path, run: Run) -> None:
    outcome = run("probe", "relu.ltoir", "--exports", "relu.tileexports.json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "relu.ltoir: 3/3 exports fit as far as a probe link shows (sm_90)\n"
        "relu: `relu_impl` is there, its 2 parameters have the right widths\n"
        "scale_in_place: `scale_in_place_impl` is there, its 2 parameters have the right widths\n"
        "warp_sum: `warp_sum_impl` is there, its 2 parameters have the right widths\n"
        "\n"
        "A probe link cannot tell:\n"
        "  relu: whether `x` (f32) is that type or another of its width\n"
        "  relu: what stands behind `relu_out` (f32), and whether it is only read\n"
        "  scale_in_place: whether `factor` (f32) is that type or another of its width\n"
        "  scale_in_place: what stands behind `x` (f32), and whether it is only read\n"
        "  warp_sum: whether `x` (f32) is that type or another of its width\n"
        "  warp_sum: what stands behind `warp_sum_out` (f32), and whether it is only read\n"
        "`tilewright verify` tells these, by running the code\n"
    )


def test_a_probe_finds_a_missing_symbol(project: Path, run: Run) -> None:
    description = (project / "relu.tileexports.json").read_text().replace("relu_impl", "absent_impl")
    (project / "relu.tileexports.json").write_text(description)
    outcome = run("probe", "relu.ltoir", "--exports", "relu.tileexports.json")
    assert outcome.code == 1
    assert "relu.ltoir: 2/3 exports fit" in outcome.out
    assert "error: `relu`: the device code does not define `absent_impl`" in outcome.out
    record = json.loads(run("probe", "relu.ltoir", "--exports", "relu.tileexports.json", "--json").out)
    assert record["fit"] == ["scale_in_place", "warp_sum"]


def test_a_probe_of_something_else(project: Path, run: Run) -> None:
    outcome = run("probe", "relu.cu", "--exports", "relu.tileexports.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "relu.cu: error: not LTOIR: it begins with" in outcome.err
