"""Our builders inside somebody else's project: variant folders, generated headers, other variables, runs at once."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from end_to_end.sandbox import LIMIT, RELU, TOOLS, Sandbox, finished
from tilewright.packages.verification import verify_package

ARTIFACT_COUNT = 7


def test_a_script_in_variant_folders_finds_its_headers_and_keeps_its_artifacts_there(
    project: Callable[..., Sandbox],
) -> None:
    sconstruct = """\
import tilewright.scons

tilewright.scons.check_variables(["arch"])
env = Environment(tools=["default", tilewright.scons.generate])
for variant in ("debug", "release"):
    SConscript("libs/relu/SConscript", variant_dir=f"out/{variant}", duplicate=variant == "debug", exports="env")
"""
    script = 'Import("env")\nrelu = env.TileLibrary("relu", "relu.cu")\nenv.Install("installed", relu["sm_120"].text)\n'
    files = {
        "SConstruct": sconstruct,
        "libs/relu/SConscript": script,
        "libs/relu/relu.cu": RELU,
        "libs/relu/limit.cuh": LIMIT,
    }
    larger = project("larger", files)
    built = larger.scons("tilelib_arch=sm_120", "arch=x86_64")
    assert built.code == 0, built
    trees = [larger.tree("out", variant, "sm_120") for variant in ("debug", "release")]
    assert len(trees[0]) == ARTIFACT_COUNT
    assert trees[0] == trees[1]
    assert b'#line 1 "libs/relu/relu.cu"' in trees[0]["relu.device.cu"]
    assert not (larger.folder / "build").exists()
    assert larger.scons("tilelib_arch=sm_120", "arch=x86_64").up_to_date()
    larger.edit("libs/relu/limit.cuh", "0.0f", "2.0f")
    header = larger.scons("tilelib_arch=sm_120", "arch=x86_64")
    assert sorted(header.steps) == ["exports", "exports", "library", "library", "ltoir", "ltoir"]
    missing = larger.scons("out/debug/sm_120/relu.ltoir")
    assert missing.code == 2
    assert "`arch` is missing" in missing.errors[0]


def test_a_library_that_fails_under_keep_going_takes_only_its_own_users_along(project: Callable[..., Sandbox]) -> None:
    sconstruct = """\
import tilewright.scons

env = Environment(tools=["default", tilewright.scons.generate])
for name in ("first", "broken", "last"):
    SConscript(f"libs/{name}/SConscript", variant_dir=f"out/{name}", duplicate=False, exports=["env", "name"])
theirs = env.Command("theirs.txt", "theirs.in", Copy("$TARGET", "$SOURCE"))
env.Default(env.Alias("everything", ["out", "installed", theirs]))
"""
    script = """\
Import("env", "name")
library = env.TileLibrary(name, "relu.cu")
package = env.TilePackage(name, [library, env.TileBindings(library)], version="1.0")
env.Install("#installed", [library, package])
"""
    files = {"SConstruct": sconstruct, "theirs.in": "theirs\n"}
    for name in ("first", "broken", "last"):
        files |= {f"libs/{name}/SConscript": script, f"libs/{name}/relu.cu": RELU, f"libs/{name}/limit.cuh": LIMIT}
    files["libs/broken/relu.cu"] = RELU.replace("return x", "return y")
    larger = project("larger", files)
    run = larger.scons("-k", "-j2", "arch=sm_120")
    assert run.code == 2
    assert [error.partition("]")[0] for error in run.errors] == ["[out/broken/sm_120/broken.ltoir"]
    installed = {f"{name}.tilelib" for name in ("first", "last")}
    installed |= {f"tilelib_{name}-1.0.zip" for name in ("first", "last")}
    assert larger.tree("installed").keys() == installed
    assert larger.read("theirs.txt") == b"theirs\n"
    assert not {name for name in larger.tree("out/broken") if name.endswith((".tilelib", ".ltoir", ".zip"))}

    larger.edit("libs/broken/relu.cu", "return y", "return x")
    repaired = larger.scons("-k", "-j2", "arch=sm_120")
    assert repaired.rebuilt("exports", "ltoir", "library")
    assert len(larger.tree("installed")) == 6
    assert larger.scons("arch=sm_120").up_to_date()
    assert larger.scons("-c", "arch=sm_120").code == 0
    assert larger.tree("out") == larger.tree("installed") == {}


def test_environments_of_one_run_keep_their_settings_apart(project: Callable[..., Sandbox]) -> None:
    sconstruct = """\
import tilewright.scons

ours = {
    arch: Environment(
        tools=["default", tilewright.scons.generate],
        tilelib_arch=arch,
        TILELIB_BUILD_DIR=f"#out/{headers}",
        TILELIB_INCLUDE_PATH=[f"#{headers}"],
    )
    for arch, headers in (("sm_90", "low"), ("sm_120", "high"))
}
theirs = Environment(tools=["default"], arch="x86_64", ENV={"arch": "arm64"})
theirs.Command("copied", "relu.cu", Copy("$TARGET", "$SOURCE"))
for arch, env in ours.items():
    relu = env.TileLibrary("relu", "relu.cu")
    assert list(relu.parts) == [arch]
    env.TilePackage(f"relu_{arch}", relu, version="1.0")
assert not hasattr(theirs, "TileLibrary") and theirs["arch"] == "x86_64"
"""
    files = {"SConstruct": sconstruct, "relu.cu": RELU.replace('"limit.cuh"', "<limit.cuh>")}
    files |= {"low/limit.cuh": LIMIT, "high/limit.cuh": LIMIT.replace("0.0f", "9.0f")}
    two = project("two", files)
    run = two.scons("-j2", ".", "package")
    assert run.code == 0, run
    assert len(run.steps) == 8
    low, high = two.tree("out/low/sm_90"), two.tree("out/high/sm_120")
    assert {path.partition("/")[0] for path in two.tree("out/low")} == {"sm_90", "packages"}
    assert low.keys() == high.keys()
    for folder, arch in (("out/low", "sm_90"), ("out/high", "sm_120")):
        (archive,) = two.tree(f"{folder}/packages").values()
        assert verify_package(archive, "p.zip").manifest.architectures == [arch]
    two.write({"low/limit.cuh": LIMIT.replace("0.0f", "1.0f")})
    edited = two.scons("-j2", ".", "package")
    assert edited.rebuilt("exports", "ltoir", "library")
    assert two.tree("out/high/sm_120") == high
    assert two.tree("out/low/sm_90")["relu.tilelib"] != low["relu.tilelib"]


def test_no_builder_makes_the_default_environment(sandbox: Sandbox) -> None:
    text = sandbox.read("SConstruct").decode()
    more = """
import SCons.Defaults

bindings = env.TileBindings(relu)
env.TileMockCaller(relu)
env.TileProgram("program", "program.cu", libraries=[relu])
env.TileShader("shader", "shader.py", specialisations={"x": (4,)})
env.TilePackage("relu", [relu, bindings], version="1.0")
print("default environment:", SCons.Defaults._default_env)
"""
    sandbox.write({"SConstruct": text + more, "program.cu": "", "shader.py": ""})
    run = sandbox.scons("arch=sm_120", "-n", "build/sm_120/relu.tilelib")
    assert run.code == 0, run
    assert "default environment: None\n" in run.out


def test_a_header_that_another_step_makes_is_made_first_and_followed(project: Callable[..., Sandbox]) -> None:
    sconstruct = """\
import tilewright.scons

env = Environment(tools=["default", "textfile", tilewright.scons.generate], TILELIB_INCLUDE_PATH=["#made"])
env.TileLibrary("relu", "relu.cu", arch="sm_120")
env.Textfile("made/limit.cuh", ARGUMENTS.get("limit", "#define LIMIT 0.0f"), TEXTFILESUFFIX="")
"""
    generated = project("generated", {"SConstruct": sconstruct, "relu.cu": RELU.replace('"limit.cuh"', "<limit.cuh>")})
    assert generated.scons().code == 0
    assert generated.scons().up_to_date()
    assert generated.scons("limit=#define LIMIT 3.0f").rebuilt("exports", "ltoir", "library")


@pytest.mark.parametrize("lockable", [True, False])
def test_two_runs_in_one_tree_wait_for_each_other(sandbox: Sandbox, lockable: bool) -> None:
    if not lockable:
        refusal = "from tilewright.scons import lock\nlock._lock_folder = lambda *arguments: None\n"
        sandbox.edit("SConstruct", "import tilewright.scons\n", f"import tilewright.scons\n{refusal}")
    first = sandbox.start("arch=sm_120")
    time.sleep(0.05)
    second = sandbox.start("arch=sm_120,sm_90")
    runs = [finished(first), finished(second)]
    assert [run.code for run in runs] == [0, 0]
    told = [run for run in runs if re.search("another SCons run is working in .*; waiting until it ends", run.out)]
    assert len(told) == 1
    assert sorted(runs[0].steps + runs[1].steps) == sorted(["exports", "ltoir", "bytecode", "library"] * 2)
    assert sandbox.scons("arch=sm_120,sm_90").up_to_date()
    assert (sandbox.folder / ".sconsign.tilewright.lock").exists() <= (not lockable)


def test_runs_that_only_look_do_not_wait(sandbox: Sandbox) -> None:
    sandbox.write(
        {"SConstruct": sandbox.read("SConstruct").decode() + "import time\ntime.sleep(int(ARGUMENTS['s']))\n"}
    )
    sandbox.edit("SConstruct", "check_variables()", 'check_variables(["s"])')
    busy = sandbox.start("arch=sm_120", "s=3", "-c")
    time.sleep(0.6)
    looking = sandbox.scons("arch=sm_120", "s=0", "-n")
    assert busy.poll() is None, "the other run was to be still at work"
    assert looking.code == 0
    assert "waiting" not in looking.out
    assert finished(busy).code == 0


def test_the_tool_can_be_named_through_the_site_folder(sandbox: Sandbox) -> None:
    shim = (TOOLS.parent / "site_scons/site_tools/tilelib.py").read_text()
    sandbox.write({"site_scons/site_tools/tilelib.py": shim})
    sandbox.edit("SConstruct", "tilewright.scons.generate", '("tilelib", {"arch": "sm_120"})')
    run = sandbox.scons("-n")
    assert run.code == 0
    assert set(run.steps) == {"exports", "ltoir", "bytecode", "library"}
    assert not (sandbox.folder / "build").exists()
