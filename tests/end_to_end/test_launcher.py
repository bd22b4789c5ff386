"""`launcher=`: steps in an empty folder that holds their inputs make the same bytes, and fail with the same errors."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import LIMIT, RELU, SCONSTRUCT, Sandbox
from needed_tools import needs

EXAMPLE = Path(__file__).parents[2] / "examples" / "launcher"
ISOLATE = "launcher=examples/launcher/isolate.py"
OUT = "build/sm_90/examples/launcher"
MORE = """
env.TileMockCaller(levels)
env.TileLibrary("provided", "soften.cu", provider=1, provider_abi="observed")
env.NvJitLink("linked.cubin", soften.ltoir, TILELIB_LINK_ARCH="sm_90")
"""
KERNEL = """\
from tilewright import tile
from tilewright.tile import f32


@tile.kernel
def halves(x: tile.In[f32, 1], y: tile.Out[f32, 1]):
    e = tile.axis("e", 64)
    for p in tile.parallel(16):
        y[p.index() * 64, e] = x[p.index() * 64, e] * 0.5
"""
SHADER = """\
import tilewright.scons

env = Environment(tools=[tilewright.scons.generate])
env.TileShader("halves", "halves.py", backends=["metal"], specialisations={"x": (1024,), "y": (1024,)})
"""


@pytest.fixture
def example(project: Callable[..., Sandbox]) -> Sandbox:
    """The example in a project of its own."""
    script = "import tilewright.scons\nenv = Environment(tools=[tilewright.scons.generate])\n"
    made = project("example", {"SConstruct": script + 'SConscript("examples/launcher/SConscript", exports="env")\n'})
    shutil.copytree(EXAMPLE, made.folder / "examples" / "launcher", ignore=shutil.ignore_patterns("__pycache__"))
    return made


@pytest.fixture
def shader(project: Callable[..., Sandbox]) -> Sandbox:
    """A shader as MSL, whose capture is the one step that is launched; and a launcher that leaves a trace."""
    made = project(
        "shader", {"SConstruct": SHADER, "halves.py": KERNEL, "trace.sh": '#!/bin/sh\necho >trace\nexec "$@"\n'}
    )
    (made.folder / "trace.sh").chmod(0o755)
    return made


@needs("g++")
@needs("rustc")
def test_isolated_steps_make_the_same_bytes_and_nothing_is_made_again(example: Sandbox) -> None:
    """Every kind of step that is launched."""
    script = example.folder / "examples/launcher/SConscript"
    script.write_text(script.read_text(encoding="utf-8") + MORE, encoding="utf-8")
    everything = ("arch=sm_90", "-j2", ".", f"{OUT}/levels.verify.zip")
    run = example.scons(*everything, ISOLATE)
    assert run.code == 0, run
    assert {"exports", "ltoir", "library", "program", "capture", "shader", "verification", "link"} <= set(run.steps)
    assert f"Tile library written to {OUT}/soften.tilelib\n" in run.out
    assert not [name for name in example.listing() if "launched" in name]
    assert example.scons(*everything).up_to_date(), "the launcher is no part of what is signed"

    isolated = example.tree("build")
    shutil.rmtree(example.folder / "build")
    assert example.scons(*everything).code == 0
    assert example.tree("build") == isolated
    assert {"soften.tilelib", "levels.tilelib", "provided.tilelib", "caller.cubin", "decay.tile.ptx"} <= {
        os.path.basename(name) for name in isolated
    }


@needs("g++")
def test_a_program_is_executable_whatever_a_launcher_brings_back(example: Sandbox) -> None:
    """As one that brings back contents alone."""
    example.write(
        {
            "examples/launcher/SConscript": 'Import("env")\nenv.TileProgram("hello", "caller.cu")\n',
            "back.sh": "#!/bin/sh\nprintf '#!/bin/sh\\necho hello\\n' >\"$TILEWRIGHT_OUTPUTS\"\n",
        }
    )
    assert example.scons("arch=sm_90", "launcher=sh back.sh").rebuilt("program")
    assert subprocess.run([example.folder / OUT / "hello"], capture_output=True, check=True).stdout == b"hello\n"


def test_a_file_that_a_step_does_not_declare_is_not_there(example: Sandbox) -> None:
    """As one that Python code reads of which no scanner knows."""
    example.edit(
        "examples/launcher/factors.py", "DECAY = 0.5", 'DECAY = float(open("examples/launcher/decay.txt").read())'
    )
    example.write({"examples/launcher/decay.txt": "0.5"})
    run = example.scons("arch=sm_90", "build/tileir", ISOLATE)
    (error,) = run.errors
    place = "examples/launcher/factors.py:4: error: the kernel file raised FileNotFoundError"
    assert error.startswith(f"[build/tileir/examples/launcher/decay.tileir] {place}")
    assert "decay.txt" in error
    assert example.tree("build") == {}


def test_errors_of_a_launched_step_are_those_of_the_step(sandbox: Sandbox) -> None:
    sandbox.edit("relu.cu", "LIMIT ? x", "LIMIT ? y")
    shutil.copy(EXAMPLE / "isolate.py", sandbox.folder)
    plain, launched = (sandbox.scons("arch=sm_120", *more) for more in ((), ("launcher=./isolate.py",)))
    assert launched.errors == plain.errors
    (error,) = launched.errors
    assert "relu.cu:5:" in error
    assert "undefined" in error


def test_a_failed_launcher_leaves_what_was_made_before_and_one_that_works_goes_on(shader: Sandbox) -> None:
    """The launcher of one environment."""
    assert shader.scons().code == 0
    before = shader.tree("build")
    shader.edit("SConstruct", "env.Tile", 'tilewright.scons.generate(env, launcher=["sh", "-c", "exit 4"])\nenv.Tile')
    shader.edit("halves.py", "0.5", "0.25")
    (error,) = shader.scons().errors
    assert error.startswith("[build/tileir/halves.tileir] error: the launcher `sh` failed (exit status 4)")
    assert "$ sh -c 'exit 4' " in error
    assert shader.tree("build") == before
    assert shader.scons("launcher=env").rebuilt("capture", "shader")
    assert shader.scons("launcher=").up_to_date()


def test_a_dry_run_prints_the_command_and_launches_nothing(shader: Sandbox) -> None:
    run = shader.scons("-n", "verbose=1", "launcher=./trace.sh")
    (line,) = (line for line in run.out.splitlines() if line.startswith("./trace.sh "))
    assert "-m tilewright.scons.launched capture --source=halves.py --target=build/tileir/halves.tileir" in line
    assert not (shader.folder / "trace").exists()
    assert shader.scons("launcher=./trace.sh").rebuilt("capture", "shader")
    assert (shader.folder / "trace").exists()


def test_what_a_killed_run_had_launched_is_swept_away(shader: Sandbox) -> None:
    shader.write(
        {"build/tileir/.halves.tileir.launched/halves.tileir": "half", "build/tileir/.launched": "a file of the user's"}
    )
    os.utime(shader.folder / "build/tileir/.halves.tileir.launched", (0, 0))
    assert shader.scons().code == 0
    assert shader.tree("build", "tileir").keys() == {"halves.tileir", ".launched"}


def test_a_launcher_that_is_not_there_stops_the_build_and_not_the_cleaning(sandbox: Sandbox) -> None:
    run = sandbox.scons("arch=sm_120", "launcher=./gone --fast")
    assert run.code == 2
    assert "SConstruct:4: error: `launcher=./gone --fast` cannot be run: there is no program `./gone`" in run.err
    assert sandbox.scons("arch=sm_120", "-c", "launcher=./gone --fast").code == 0


def test_a_launcher_that_may_not_be_run_is_told_how(sandbox: Sandbox) -> None:
    sandbox.write({"run.sh": "#!/bin/sh\n"})
    run = sandbox.scons("arch=sm_120", "launcher=./run.sh --fast")
    assert run.code == 2
    assert "SConstruct:4: error: `launcher=./run.sh --fast` cannot be run: `./run.sh` is not executable" in run.err
    assert "hint: chmod +x ./run.sh" in run.err


def test_a_file_outside_of_the_top_folder_is_named_by_the_way_to_it(project: Callable[..., Sandbox]) -> None:
    files = {
        "top/SConstruct": SCONSTRUCT.replace('"relu.cu"', '"../shared/relu.cu"'),
        "shared/relu.cu": RELU.replace("limit.cuh", "inner/limit.cuh"),
        "shared/inner/limit.cuh": LIMIT,
    }
    made = project("outside", files)
    shutil.copy(EXAMPLE / "isolate.py", made.folder)
    assert made.scons("arch=sm_90", "launcher=../isolate.py", at="top").code == 0
    isolated = made.tree("top", "build")
    shutil.rmtree(made.folder / "top" / "build")
    assert made.scons("arch=sm_90", at="top").code == 0
    assert made.tree("top", "build") == isolated
