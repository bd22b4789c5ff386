"""Shaders as MSL: what is made without an architecture, what an edit rebuilds, the check of it on the CPU."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import TOOLS, Sandbox
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
    records = {"shaders.metallib.json": "3.0", "native_shaders.metallib.json": "4.0"}
    assert made.keys() == {name + suffix for name in EXAMPLES for suffix in (".metal", ".json")} | records.keys()
    for name, language in records.items():
        record = json.loads(made[name])
        assert record["metallib"] == "skipped"
        assert {source["language"] for source in record["sources"]} == {language}
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


BOTH = 'backends=["cuda", "metal"], specialisations'
USES = """\
env.MetalLibrary("both", shader)
env.Command("ptx.txt", shader["sm_90"], Copy("$TARGET", "$SOURCE"))
env.Install("out", shader)
"""


def test_without_an_architecture_what_needs_none_is_made_and_the_rest_names_the_choices(shader: Sandbox) -> None:
    shader.edit("SConstruct", "specialisations", BOTH)
    shader.write({"SConstruct": shader.read("SConstruct").decode() + USES})
    assert shader.scons("build/metal").rebuilt("capture", "shader")
    assert shader.tree("build").keys() == {"tileir/scale.tileir", "metal/both.metallib.json"} | MSL
    assert shader.scons("-h").code == 0
    for target in ("", ".", "ptx.txt", "out", "build/sm_90"):
        run = shader.scons(*target.split())
        assert run.code == 2, target
        assert "`arch` is missing" in run.err
    assert "Traceback" not in run.err
    assert shader.scons("-c").code == 0
    assert shader.tree("build") == {}
    shader.edit("SConstruct", 'env.Install("out", shader)', 'Default("build/metal")')
    assert shader.scons().rebuilt("capture", "shader"), "the default targets of this script need none"


def test_a_package_of_a_shader_is_not_written_without_its_cuda_half(shader: Sandbox) -> None:
    shader.edit("SConstruct", "specialisations", BOTH)
    shader.write({"SConstruct": shader.read("SConstruct").decode() + 'env.TilePackage("s", [shader], version="1.0")\n'})
    run = shader.scons("package")
    assert run.code == 2
    assert "`arch` is missing" in run.err
    assert shader.tree("build") == {}


@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("variables", [(), ("backends=metal",)])
def test_the_check_of_a_shader_for_both_needs_no_architecture(shader: Sandbox, variables: tuple[str, ...]) -> None:
    shader.edit("SConstruct", "specialisations", BOTH)
    shader.write({"SConstruct": shader.read("SConstruct").decode() + USES})
    assert shader.scons("check-metal", *variables).rebuilt("capture", "shader", "check")
    assert shader.scons("check-metal", *variables).up_to_date()


def test_the_check_of_shaders_without_msl_says_what_makes_some(shader: Sandbox) -> None:
    shader.edit("SConstruct", "specialisations", 'backends=["cuda"], specialisations')
    run = shader.scons("check-metal", "arch=sm_90")
    assert run.code == 2
    assert "nothing in the build scripts declares `check-metal`" in run.err
    assert 'its `backends=` are without "metal"' in run.err


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


@pytest.mark.usefixtures("clang")
def test_a_script_sets_the_tolerance_of_a_check_and_may_ask_for_its_report(shader: Sandbox) -> None:
    shader.write({"SConstruct": SCONSTRUCT + "report = env.TileShaderCheck(shader, tolerance=1e-3)\n"})
    shader.edit("kernel.py", "* 2.0", "* 0.1")
    run = shader.scons("backends=metal", "build/metal/scale.check.json")
    assert run.rebuilt("capture", "shader", "check"), "by name, without the alias"
    assert ", tolerance 0.001" in run.out
    assert json.loads(shader.read("build/metal/scale.check.json"))["tolerance"] == 1e-3
    assert shader.scons("check-metal").up_to_date(), "one check a shader"
    shader.edit("SConstruct", "1e-3", "1e-30")
    assert shader.scons("backends=metal").up_to_date(), "the default targets are without it"
    run = shader.scons("check-metal")
    assert run.steps == ["check"]
    assert "is wrong: wrong result in `y`" in run.err
    without = {"TILEWRIGHT_CLANG": "no-such-clang"}
    assert shader.scons("backends=metal", **without).up_to_date()
    named = shader.scons("backends=metal", "build/metal/scale.check.json", **without)
    assert "cannot be made here" in named.err
    assert "the MSL check needs clang 16 or newer" in named.err


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("shader, tolerance=0", "`tolerance=0` is no number between 0 and 1"),
        ("shader, tolerance=True", "`tolerance=True` is no number"),
        ('"scale"', "`TileShaderCheck` is given str, and checks a shader"),
        ("shader); env.TileShaderCheck(shader", "the check of `scale` is declared twice"),
    ],
)
def test_a_wrong_check_is_said_at_its_line(shader: Sandbox, call: str, words: str) -> None:
    shader.write({"SConstruct": SCONSTRUCT + f"env.TileShaderCheck({call})\n"})
    run = shader.scons("backends=metal")
    assert run.code == 2
    assert "SConstruct:6: error: " + words in run.err


@pytest.mark.usefixtures("clang")
def test_an_edit_of_the_check_checks_again_and_writes_no_msl(shader: Sandbox) -> None:
    tools = shader.folder / "tools"
    shutil.copytree(TOOLS, tools, ignore=shutil.ignore_patterns("__pycache__"))
    shader.environ["PYTHONPATH"] = str(tools)
    assert shader.scons("check-metal").rebuilt("capture", "shader", "check")
    shader.edit("tools/tilewright/lowering/metal/check/comparison.py", "SENTINEL = 17", "SENTINEL = 23")
    assert shader.scons("check-metal").rebuilt("check")
    shader.edit("tools/tilewright/lowering/metal/offline.py", "-O2", "-O3")
    assert shader.scons("check-metal").up_to_date()
    shader.edit("tools/tilewright/lowering/metal/writer.py", "from __future__", "# a comment\nfrom __future__")
    assert shader.scons("backends=metal").rebuilt("shader")


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ((), set()),
        (("arch=sm_90",), set()),
        (("backends=metal",), {f"sm_90/{name}" for name in COMPILED}),
        (("backends=cuda",), MSL | {"metal/scale.check.json"}),
        (("check-metal",), {f"sm_90/{name}" for name in COMPILED}),
    ],
)
def test_cleaning_removes_what_any_backend_made_or_what_the_named_ones_did(
    shader: Sandbox, arguments: tuple[str, ...], left: set[str]
) -> None:
    assert shader.scons("backends=cuda,metal", "arch=sm_90").code == 0
    shader.write({"build/metal/scale.check.json": "{}"})
    assert shader.scons("-c", *arguments, TILEWRIGHT_CLANG="no-such-clang").code == 0
    assert shader.tree("build").keys() == left


def test_cleaning_reads_a_script_that_names_parts_which_are_not_there(shader: Sandbox) -> None:
    shader.write({"SConstruct": SCONSTRUCT + 'env.Install("out", shader["sm_90"])\n'})
    assert shader.scons("-c").code == 0
    assert shader.scons("arch=sm_90", ".").code == 0
    assert shader.tree("out").keys() == COMPILED
    assert shader.scons("-c", ".").code == 0
    assert shader.tree("build") == shader.tree("out") == {}


def test_without_clang_one_line_says_that_the_check_is_skipped(shader: Sandbox) -> None:
    run = shader.scons("check-metal", TILEWRIGHT_CLANG="no-such-clang")
    assert run.code == 0
    assert run.steps == []
    assert run.out.count("skipping: check-metal: the MSL check needs clang 16 or newer") == 1
    assert "apt-get install clang-19 libclang-rt-19-dev llvm-19" in run.out
