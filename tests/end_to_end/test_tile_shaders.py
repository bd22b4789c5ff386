"""Shaders in a build: what is made, what an edit rebuilds, what is refused."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import TOOLS, Sandbox
from end_to_end.test_shows import checkout
from tilewright.toolchain.toolkit import Toolkit

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=[tilewright.scons.generate])
shader = env.TileShader("scale", "kernel.py", specialisations={"x": (1003,), "y": (1003,)})
"""

KERNEL = """\
import sizes
from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def scale(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", sizes.TILE)
    for p in tile.parallel(tile.cdiv(x.shape[0], sizes.TILE)):
        first = p.index() * sizes.TILE
        y[first, e] = x[first, e] * 2.0
"""

FILES = {"SConstruct": SCONSTRUCT, "kernel.py": KERNEL, "sizes.py": "TILE = 16\n"}
COMPILED = {"scale.cu", "scale.tile.ptx", "scale.json"}
EXAMPLES = {
    "attention",
    "axpb",
    "cross_entropy",
    "gemm_nn",
    "gemm_nt",
    "gemm_tn",
    "gemm_tt",
    "layer_norm",
    "native_gemm",
    "rms_norm",
    "softmax",
}
SUFFIXES = (".cu", ".tile.ptx", ".json")
TENSOR_CORES = re.compile(r"\b(mma|wmma|simd_\w*|mma\.sync|wgmma)\b")


@pytest.fixture
def shader(project: Callable[..., Sandbox]) -> Sandbox:
    return project("shader", FILES)


def test_a_shader_follows_its_file_and_imports_and_stops_where_the_tileir_is_the_same(shader: Sandbox) -> None:
    assert shader.scons("arch=sm_90,sm_120").rebuilt("capture", "shader")
    assert shader.tree("build").keys() == {"tileir/scale.tileir"} | {
        f"{arch}/{name}" for arch in ("sm_90", "sm_120") for name in COMPILED
    }
    assert shader.scons("arch=sm_90,sm_120").up_to_date()
    before = shader.tree("build")
    assert json.loads(before["sm_90/scale.json"])["entry"].endswith("scale")
    assert b".target sm_90" in before["sm_90/scale.tile.ptx"]
    assert b".target sm_120" in before["sm_120/scale.tile.ptx"]

    shader.edit("kernel.py", "        first =", "        # the first of the tile\n        first =")
    assert shader.scons("arch=sm_90").rebuilt("capture"), "a comment: the text of the TileIR is the same"
    assert shader.tree("build") == before

    shader.edit("sizes.py", "16", "32")
    assert shader.scons("arch=sm_90").rebuilt("capture", "shader"), "a module that the kernel file imports"
    shader.edit("SConstruct", "specialisations", 'options={"fast_math": True}, specialisations')
    assert shader.scons("arch=sm_90").rebuilt("shader"), "an option"
    shader.edit("SConstruct", '"y": (1003,)', '"y": (1004,)')
    assert shader.scons("arch=sm_90").rebuilt("capture", "shader"), "a specialisation"
    assert shader.scons("arch=sm_90").up_to_date()
    assert shader.scons("arch=sm_90,sm_120", "-c").code == 0
    assert shader.tree("build") == {}


def test_a_module_that_another_step_makes_is_made_first(shader: Sandbox) -> None:
    (shader.folder / "sizes.py").unlink()
    shader.edit("SConstruct", "shader =", 'env.Command("sizes.py", [], "echo TILE = 8 > $TARGET")\nshader =')
    assert shader.scons("arch=sm_90").rebuilt("capture", "shader")
    assert shader.scons("arch=sm_90").up_to_date()


def test_in_a_variant_folder_everything_lies_below_it(project: Callable[..., Sandbox]) -> None:
    files = {f"sub/{name}": text for name, text in FILES.items() if name != "SConstruct"}
    head, body = SCONSTRUCT.split("shader = ")
    files["SConstruct"] = head + 'SConscript("sub/SConscript", exports="env", variant_dir="out")\n'
    files["sub/SConscript"] = 'Import("env")\nshader = ' + body
    odd = project("odd $x ü, folder", files)
    assert odd.scons("arch=sm_90").rebuilt("capture", "shader")
    assert {"tileir/scale.tileir", "sm_90/scale.tile.ptx"} <= odd.tree("out").keys()
    odd.edit("sub/sizes.py", "16", "32")
    assert odd.scons("arch=sm_90").rebuilt("capture", "shader")
    assert odd.scons("arch=sm_90").up_to_date()


def test_a_failure_leaves_the_outputs_of_before_and_a_damaged_output_is_made_again(shader: Sandbox) -> None:
    shader.scons("arch=sm_90")
    before = shader.tree("build")
    shader.edit("kernel.py", "* 2.0", "* undefined")
    run = shader.scons("arch=sm_90")
    assert run.code == 2
    assert "kernel.py:11: error: the kernel file raised NameError: name 'undefined' is not defined" in run.err
    assert "Traceback" not in run.err
    assert shader.tree("build") == before
    shader.edit("kernel.py", "* undefined", "* 2.0")
    shader.write({"build/sm_90/scale.cu": "nonsense"})
    assert shader.scons("arch=sm_90").code == 0
    assert shader.tree("build") == before


def test_what_a_kernel_file_prints_is_shown_and_where_it_loops_too(shader: Sandbox) -> None:
    shader.edit("kernel.py", "import sizes", 'import sizes\nprint("hello")')
    assert "kernel.py printed:\nhello\n" in shader.scons("arch=sm_90").out
    shader.edit("kernel.py", 'print("hello")', "while True: pass")
    shader.edit("SConstruct", "specialisations", "time_limit=0.5, specialisations")
    run = shader.scons("arch=sm_90")
    assert "kernel.py:2: error: the kernel file ran longer than 0.5 s and was stopped" in run.err


def test_a_file_that_is_read_has_to_be_a_dependency(shader: Sandbox) -> None:
    shader.write({"sizes.txt": "16\n"})
    shader.edit("kernel.py", "import sizes", 'import sizes\nopen(__file__.replace("kernel.py", "sizes.txt")).read()')
    run = shader.scons("arch=sm_90")
    assert "it read `sizes.txt`, of which the build knows nothing" in run.err
    assert 'env.Depends(shader.text, "sizes.txt")' in run.err
    shader.write({"SConstruct": SCONSTRUCT + 'env.Depends(shader.text, "sizes.txt")\n'})
    assert shader.scons("arch=sm_90").rebuilt("capture", "shader")
    shader.write({"sizes.txt": "17\n"})
    assert shader.scons("arch=sm_90").rebuilt("capture")


def test_a_file_or_module_outside_the_top_folder_has_to_be_a_dependency_and_an_edit_of_it_counts(
    shader: Sandbox, tmp_path: Path
) -> None:
    """What nobody declares would be taken for up to date, and given to others by the cache, when it changes."""
    command = ("backends=metal", f"cache={tmp_path / 'cache'}", "--cache-force")
    data = tmp_path / "data"
    data.mkdir()
    (data / "scale.txt").write_text("16")
    (data / "sizes_of_all.py").write_text("TILE = 16\n")
    reading = 'import pathlib\nTILE = int((pathlib.Path(__file__).parents[1] / "data/scale.txt").read_text())\n'
    shader.write({"sizes.py": reading})
    name = "../data/scale.txt"
    refused = shader.scons(*command)
    assert f"kernel.py: error: it read `{name}`, of which the build knows nothing [hidden-dependency]" in refused.err
    assert f'env.Depends(shader.text, "{name}")' in refused.err
    assert not (shader.folder / "build/tileir/scale.tileir").exists()

    shader.write({"SConstruct": SCONSTRUCT + f'env.Depends(shader.text, "{name}")\n'})
    assert shader.scons(*command).rebuilt("capture", "shader")
    assert shader.scons(*command).up_to_date()
    (data / "scale.txt").write_text("32")
    assert shader.scons(*command).rebuilt("capture", "shader")
    edited = shader.read("build/tileir/scale.tileir")
    shutil.rmtree(shader.folder / "build")
    assert shader.scons(*command).steps == [], "of the cache"
    assert shader.read("build/tileir/scale.tileir") == edited

    shader.write({"sizes.py": f"import sys\nsys.path.append({str(data)!r})\nfrom sizes_of_all import TILE\n"})
    assert "it read `../data/sizes_of_all.py`, of which" in shader.scons(*command).err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"kernel.py"', '"kernel.cu"', ("`kernel.cu` is no kernel file", "a .py file")),
        ('"kernel.py"', '["kernel.py", "sizes.py"]', ("`scale` has 2 sources",)),
        ('"scale"', '"scale-1"', ("`scale-1` cannot name a shader",)),
        ("(1003,), ", "{1003}, ", ("the specialisation `x` of `scale` holds a set",)),
        (
            "specialisations=",
            "backends=['vulkan'], specialisations=",
            ("backend `vulkan` is not in this build", "cuda"),
        ),
        ("specialisations=", "options={'fastmath': 1}, specialisations=", ("no option `fastmath`", "fast_math")),
        ("specialisations=", "time_limit=0, specialisations=", ("`time_limit=0` is no number of seconds",)),
        ("specialisations=", "archs='sm_90', specialisations=", ("`TileShader` takes no `archs`",)),
        ("shader = ", 'env.TileShader("scale", "sizes.py")\nshader = ', ("there are two shaders `scale`",)),
    ],
)
def test_what_a_script_asks_wrongly_is_said_at_its_line(
    shader: Sandbox, old: str, new: str, words: tuple[str, ...]
) -> None:
    shader.edit("SConstruct", old, new)
    run = shader.scons("arch=sm_90")
    assert run.code == 2
    assert all(word in run.err for word in ("SConstruct:", *words)), run.err
    assert "Traceback" not in run.err
    assert shader.tree("build") == {}


def test_a_refusal_of_the_lowering_is_that_of_the_step(shader: Sandbox) -> None:
    shader.edit("SConstruct", "specialisations", 'options={"lowering": "tirx"}, specialisations')
    run = shader.scons("arch=sm_90")
    assert run.steps == ["capture", "shader"]
    assert "[build/sm_90/scale.cu] error: the TIRx lowering was requested" in run.err


def test_without_an_architecture_nothing_is_made_and_the_choices_are_listed(shader: Sandbox) -> None:
    run = shader.scons()
    assert "`arch` is missing" in run.err
    assert run.steps == []
    assert shader.scons("-h").code == 0
    shader.edit("SConstruct", "specialisations", 'arch="sm_90", specialisations')
    assert shader.scons().rebuilt("capture", "shader")
    assert shader.scons("-c").code == 0
    assert shader.tree("build") == {}


def test_both_steps_come_from_the_cache(shader: Sandbox, project: Callable[..., Sandbox]) -> None:
    cache = f"cache={shader.folder.parent / 'cache'}"
    assert shader.scons("arch=sm_90", cache).rebuilt("capture", "shader")
    other = project("a longer name", FILES)
    run = other.scons("arch=sm_90", cache)
    assert run.rebuilt()
    assert other.tree("build") == shader.tree("build")
    other.edit("sizes.py", "16", "32")
    assert other.scons("arch=sm_90", cache).rebuilt("capture", "shader")


def test_the_same_without_scons_gives_the_same_bytes(shader: Sandbox) -> None:
    shader.scons("arch=sm_90,sm_120")
    shapes = ("--set", "x=(1003,)", "--set", "y=1003")
    depfile = ("--depfile", "scale.d", "--name", "scale")
    run = shader.tilewright("compile", "kernel.py", "--arch", "sm_90,120", *shapes, "-o", "made", *depfile)
    assert run.code == 0, run
    assert "Tile shader scale written to made/sm_120 (cuda)" in run.out
    assert shader.tree("made") == shader.tree("build")
    rule = shader.read("scale.d").decode()
    assert "made/sm_90/scale.tile.ptx" in rule
    assert "kernel.py:" in rule
    assert "sizes.py:" in rule


def test_the_examples_assemble_for_both_architectures_and_use_no_tensor_cores(tmp_path: Path, toolkit: Toolkit) -> None:
    """B146."""
    one = checkout(tmp_path / "checkout")
    run = one.scons("arch=sm_90,sm_120", "-j2", "examples/shaders")
    assert run.rebuilt("capture", "shader")
    assert one.scons("arch=sm_90,sm_120", "examples/shaders").up_to_date()
    assert one.tree("build", "tileir", "examples", "shaders").keys() == {f"{name}.tileir" for name in EXAMPLES}
    ptxas = toolkit.require("ptxas").path
    for arch in ("sm_90", "sm_120"):
        made = one.tree("build", arch, "examples", "shaders")
        assert made.keys() == {name + suffix for name in EXAMPLES for suffix in SUFFIXES}
        for name in EXAMPLES:
            assert not TENSOR_CORES.search(made[f"{name}.cu"].decode())
            ptx = made[f"{name}.tile.ptx"].decode()
            assert not TENSOR_CORES.search(ptx)
            entry = json.loads(made[f"{name}.json"])["entry"]
            assert f".entry {entry}(" in ptx
            file = one.folder / "build" / arch / "examples" / "shaders" / f"{name}.tile.ptx"
            command = [ptxas, "-O1", f"--gpu-name={arch}", file, "-o", tmp_path / "x.cubin"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_another_release_of_a_package_that_a_module_imports_is_another_input(shader: Sandbox, tmp_path: Path) -> None:
    """What is up to date may be added to a cache, and is of the release that its key names."""
    shader.edit("sizes.py", "TILE", "try:\n    import weights\nexcept ImportError:\n    pass\nTILE")
    command = ("backends=metal", f"cache={tmp_path / 'cache'}")
    path = f"{TOOLS}:{tmp_path / 'installed'}"

    def install(release: str) -> None:
        for folder in (tmp_path / "installed").glob("*.dist-info"):
            shutil.rmtree(folder)
        record = tmp_path / f"installed/weights-{release}.dist-info"
        record.mkdir(parents=True)
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: weights\nVersion: {release}\n")
        (record / "top_level.txt").write_text("weights\n")

    install("1.0")
    assert shader.scons(command[0], PYTHONPATH=path).rebuilt("capture", "shader")
    assert shader.scons(command[0], PYTHONPATH=path).up_to_date()
    install("2.0")
    assert shader.scons(*command, "--cache-force", PYTHONPATH=path).rebuilt("capture")
    shutil.rmtree(shader.folder / "build")
    assert shader.scons(*command, PYTHONPATH=path).steps == []
    install("1.0")
    assert shader.scons(*command, PYTHONPATH=path).rebuilt("capture")
