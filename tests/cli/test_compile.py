"""`tilewright compile`, and `tilewright run --shader` as far as it goes without a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Run, files_below

KERNEL = """\
from tilewright import tile
from tilewright.tile import f32

print("read")


def make(suffix, factor=2.0):
    @tile.kernel(name="scale" + suffix)
    def scale(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
        e = tile.axis("e", 16)
        for p in tile.parallel(tile.cdiv(x.shape[0], 16)):
            y[p.index() * 16, e] = x[p.index() * 16, e] * factor

    return scale


scale = make("")
"""
SHAPES = ("--set", "x=(100,)", "--set", "y=(100,)")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("scale.py").write_text(KERNEL)
    return tmp_path


def test_every_backend_and_architecture_gets_its_files(run: Run, folder: Path) -> None:
    outcome = run("compile", "scale.py", "--arch", "sm_90", *SHAPES, "--option", "fmad=False")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "Tile shader scale written to build/sm_90 (cuda)\n"
    assert "note: scale.py printed:\nread\n" in outcome.err
    suffixes = (".cu", ".json", ".tile.ptx")
    made = files_below(folder / "build")
    assert made.keys() == {"tileir/scale.tileir"} | {f"sm_90/scale{suffix}" for suffix in suffixes}
    assert b'"fmad": false' in made["sm_90/scale.json"]


def test_msl_needs_no_architecture_and_an_option_may_be_of_one_backend(run: Run, folder: Path) -> None:
    backends = ("--backend", "metal", "--backend", "cuda")
    outcome = run("compile", "scale.py", *backends[:2], *SHAPES, "--option", "subgroup_reductions=True")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "Tile shader scale written to build/metal (metal)\n"
    made = files_below(folder / "build")
    assert made.keys() == {"tileir/scale.tileir", "metal/scale.metal", "metal/scale.json"}
    assert b"rows refused: no-reduction" in made["metal/scale.json"]
    refused = run("compile", "scale.py", *backends, "--arch", "sm_90", *SHAPES, "--option", "subgroup_reductions=True")
    assert "not available on the CUDA reference route" in refused.err
    own = ("--option", "metal={'subgroup_reductions': True}")
    assert run("compile", "scale.py", *backends, "--arch", "sm_90", *SHAPES, *own).code == 0
    assert files_below(folder / "build")["metal/scale.json"] == made["metal/scale.json"]


def test_text_is_a_value_of_the_function_that_makes_the_kernel(run: Run, folder: Path) -> None:
    given = ("--kernel", "make", "--set", "suffix='_x'", "--set", "factor=3.0", "--name", "three")
    assert run("compile", "scale.py", "--arch", "sm_90", *SHAPES, *given).code == 0
    text = (folder / "build/tileir/three.tileir").read_text()
    assert 'func "scale_x"' in text
    assert "{value = 3.0}" in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (SHAPES, ("--arch is required by the backend `cuda`", "choices: sm_")),
        ((*SHAPES, "--arch", "sm_91"), ("sm_91", "sm_90")),
        ((*SHAPES, "--arch", "sm_90", "--backend", "vulkan"), ("backend `vulkan` is not in this build", "cuda")),
        (("--arch", "sm_90", "--set", "x=ten"), ("--set x=ten: the value is no Python literal", "text is quoted")),
        (("--arch", "sm_90", "--set", "x=1", "--set", "x=2"), ("--set x=2: it is given twice",)),
        (("--arch", "sm_90", "--set", "=1"), ("--set =1: it has no name",)),
        (("--arch", "sm_90", "--set", "x=None"), ("the specialisation `x` of `scale` holds None",)),
        (("--arch", "sm_90", "--option", "fast=1"), ("no option `fast`",)),
        (("--arch", "sm_90", "--time-limit", "soon"), ("--time-limit takes a number of seconds, not `soon`",)),
        (
            ("--arch", "sm_90", "--set", "x=(100,)"),
            ("scale.py:8", "needs a specialisation for y", "hint: --set 'y=(...)'\n"),
        ),
        (("--arch", "sm_90", "--set", "x='ten'", SHAPES[2], SHAPES[3]), ("hint: --set 'x=(1003,)'\n",)),
        (("--arch", "sm_90", "--kernel", "make"), ("specialisation for suffix", "hint: --set 'suffix=...'\n")),
        (("--arch", "sm_90", "--kernel", "mak"), ("`mak`", "its kernels are: scale; --kernel chooses one")),
        (("--arch", "sm_90", "--set", "x=(1, 2)", "--set", "y=(1,)"), ("scale.py:8: error: `scale`: `x` has rank 1",)),
        (("--backend", "metal", *SHAPES, "--option", "metal_mpp=True"), ("`x` is view<f32", "native MPP takes")),
        (("--arch", "sm_90", *SHAPES, "--option", "lowering='tirx'"), ("without the optional TIRx bridge",)),
    ],
)
def test_a_wrong_request_is_text_and_writes_nothing(
    run: Run, folder: Path, words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    outcome = run("compile", "scale.py", *words)
    assert (outcome.code, outcome.out) == (1, "")
    assert all(word in outcome.err for word in expected), outcome.err
    assert "Traceback" not in outcome.err
    assert list(files_below(folder)) == ["scale.py"]


def test_a_file_that_loops_is_told_how_to_get_more_time(run: Run, folder: Path) -> None:
    Path("loop.py").write_text("while True:\n    pass\n")
    outcome = run("compile", "loop.py", "--arch", "sm_90", "--time-limit", "0.5")
    assert "hint: a kernel file builds kernels and returns; a longer one: --time-limit SECONDS\n" in outcome.err


def test_a_file_that_is_not_there_is_named(run: Run, folder: Path) -> None:
    outcome = run("compile", "none.py", "--arch", "sm_90")
    assert outcome.code == 1
    assert "cannot read `none.py`: No such file" in outcome.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--shader", "s.json", "--grid", "4"), ("--grid is not for a shader",)),
        (("--shader", "s.ptx"), ("`s.ptx` does not describe a shader", ".json")),
        (("--shader", "s.json", "--arg", "f32=1"), ("argument 0 is a scalar",)),
        (("--shader", "s.json", "--arg", "x.npy"), ("cannot read `s.json`",)),
        (("--shader", "cuda.json", "--arg", "x.npy"), ("cannot read `cuda.tile.ptx`",)),
        (("--shader", "metal.json", "--arg", "x.npy"), ("cannot read `metal.metal`",)),
        (("--shader", "bad.json", "--arg", "x.npy"), ("`bad.json` does not describe a shader", "format", ".metal")),
        ((), ("--cubin is required", "--kernel is required")),
    ],
)
def test_run_says_what_is_wrong_with_a_shader(
    run: Run, folder: Path, words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    np.save("x.npy", np.zeros(4, np.float32))
    Path("bad.json").write_text("{}")
    Path("cuda.json").write_text('{"format": "cuda"}')
    Path("metal.json").write_text('{"format": "metal"}')
    outcome = run("run", *words)
    assert outcome.code == 1
    assert all(word in outcome.err for word in expected), outcome.err
