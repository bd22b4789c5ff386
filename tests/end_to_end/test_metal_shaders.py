"""Shaders as MSL: what is made without an architecture, what an edit rebuilds, the check of it on the CPU."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from end_to_end.test_shows import checkout
from end_to_end.test_tile_shaders import COMPILED, EXAMPLES, FILES, SCONSTRUCT
from needed_tools import REQUIRE_ALL
from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.check.clang import find_clang

FORMS = dict.fromkeys(EXAMPLES, "reference") | {
    **dict.fromkeys(("softmax", "rms_norm", "layer_norm", "cross_entropy"), "simd-group rows"),
    "native_gemm": "native mpp",
}
MSL = {"metal/scale.metal", "metal/scale.json"}


@pytest.fixture
def shader(project: Callable[..., Sandbox]) -> Sandbox:
    return project("shader", FILES)


@pytest.fixture
def clang() -> None:
    """Without a clang that reads MSL these tests skip, in CI they fail."""
    try:
        find_clang(os.environ)
    except LoweringError as error:
        if os.environ.get(REQUIRE_ALL):
            raise
        pytest.skip(str(error))


def test_the_examples_become_msl_without_an_architecture_each_in_its_form(tmp_path: Path) -> None:
    one, other = checkout(tmp_path / "checkout"), checkout(tmp_path / "a longer name")
    assert one.scons("backends=metal", "-j2", "examples/shaders").rebuilt("capture", "shader")
    assert one.scons("backends=metal", "examples/shaders").up_to_date()
    made = one.tree("build", "metal", "examples", "shaders")
    assert made.keys() == {name + suffix for name in EXAMPLES for suffix in (".metal", ".json")}
    assert {name: json.loads(made[f"{name}.json"])["form"] for name in EXAMPLES} == FORMS
    for name in EXAMPLES:
        assert f"kernel void {json.loads(made[f'{name}.json'])['entry']}(" in made[f"{name}.metal"].decode()
    assert other.scons("backends=metal", "-j2", "examples/shaders").code == 0
    assert other.tree("build", "metal") == one.tree("build", "metal"), "no path is in the artifacts"


def test_an_edit_rebuilds_what_depends_on_it_for_both_backends(shader: Sandbox) -> None:
    assert shader.scons("backends=metal").rebuilt("capture", "shader")
    assert shader.tree("build").keys() == {"tileir/scale.tileir"} | MSL
    before = shader.tree("build")
    both = ("backends=cuda,metal", "arch=sm_90")
    assert shader.scons(*both).steps == ["shader"], "the MSL and the TileIR are there"
    assert shader.tree("build").keys() == {"tileir/scale.tileir"} | MSL | {f"sm_90/{name}" for name in COMPILED}
    shader.edit("SConstruct", "specialisations", 'options={"metal": {"threads_per_group": 32}}, specialisations')
    assert shader.scons(*both).steps == ["shader"], "an option of one backend"
    assert json.loads(shader.read("build/metal/scale.json"))["block"] != json.loads(before["metal/scale.json"])["block"]
    shader.edit("sizes.py", "16", "32")
    assert shader.scons(*both).steps == ["capture", "shader", "shader"], "a tile size"
    assert shader.scons(*both).up_to_date()
    assert shader.scons(*both, "-c").code == 0
    assert shader.tree("build") == {}


def test_what_a_script_names_wins_over_the_variable(shader: Sandbox) -> None:
    shader.edit("SConstruct", "specialisations", 'backends=["metal"], specialisations')
    assert shader.scons("backends=cuda").rebuilt("capture", "shader")
    assert shader.tree("build").keys() == {"tileir/scale.tileir"} | MSL


@pytest.mark.parametrize(
    ("variable", "options", "words"),
    [
        ("backends=vulkan", {}, ("SConstruct:5: error: the backend `vulkan` is not in this build", "cuda, metal")),
        ("backends=", {}, ("a shader needs a backend", "cuda, metal")),
        ("backends=metal", {"metal_mpp": True}, ("[build/metal/scale.metal]", "native MPP takes dense rank-two FP32")),
        ("backends=metal", {"cooperative_matrix": True}, ("not supported on Metal",)),
    ],
)
def test_a_wrong_request_is_said_and_no_msl_is_left(
    shader: Sandbox, variable: str, options: dict[str, bool], words: tuple[str, ...]
) -> None:
    shader.edit("SConstruct", "specialisations", f"options={options}, specialisations")
    run = shader.scons(variable)
    assert run.code == 2
    assert all(word in run.err for word in words), run.err
    assert "Traceback" not in run.err
    assert not MSL & shader.tree("build").keys()


@pytest.mark.usefixtures("clang")
def test_the_check_makes_msl_and_runs_it_until_nothing_changes(shader: Sandbox) -> None:
    run = shader.scons("check-metal")
    assert run.rebuilt("capture", "shader", "check"), "no backend is named: the check makes what it checks"
    assert "scale [MSL, CPU-emulated, tsan]: pass" in run.out
    assert "never compiled by Apple's compiler: 3 checks, all passed" in run.out
    assert json.loads(shader.read("build/metal/scale.check.json"))["passed"] is True
    assert shader.scons("check-metal").up_to_date()
    assert shader.scons("backends=metal").up_to_date(), "the default targets are without it"
    shader.edit("sizes.py", "16", "32")
    assert shader.scons("check-metal").rebuilt("capture", "shader", "check")
    assert shader.scons("backends=metal", "-c").code == 0
    assert shader.tree("build") == {}


@pytest.mark.usefixtures("clang")
def test_each_shader_is_checked_although_one_computes_something_else(shader: Sandbox) -> None:
    shader.edit("kernel.py", "x[first, e] * 2.0", "(x[first, e] * 1e9 + 1.0) - x[first, e] * 1e9")
    right = SCONSTRUCT.splitlines()[-1].replace("kernel.py", "right.py").replace('"scale"', '"right"')
    right_kernel = FILES["kernel.py"].replace("def scale", "def right")
    shader.write({"SConstruct": f"{SCONSTRUCT}{right}\n", "right.py": right_kernel})
    run = shader.scons("check-metal")
    assert run.code == 2
    assert run.steps.count("check") == 2
    assert "the MSL of `build/metal/scale.metal` is wrong: wrong result in `y`" in run.err
    assert "right [MSL, CPU-emulated, plain]: pass" in run.out
    assert "metal/scale.check.json" not in shader.tree("build")
    assert shader.scons("check-metal").steps == ["check"], "what passed is up to date"


def test_without_clang_one_line_says_that_the_check_is_skipped(shader: Sandbox) -> None:
    run = shader.scons("check-metal", TILEWRIGHT_CLANG="no-such-clang")
    assert run.code == 0
    assert run.steps == []
    assert run.out.count("skipping: check-metal: the MSL check needs clang 16 or newer") == 1
    assert "apt-get install clang-19 libclang-rt-19-dev llvm-19" in run.out
