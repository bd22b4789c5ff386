"""Libraries of MSL: skipped with a record where nothing compiles it, and made by a stand-in for Apple's tools.

The stand-in answers as `xcrun` does and writes what it was asked for: that shows which commands run and when, never
that Apple's compiler takes them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import Sandbox
from end_to_end.test_tile_shaders import KERNEL

SCONSTRUCT = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=[tilewright.scons.generate])
shapes = {"x": (1003,), "y": (1003,)}
scale = env.TileShader("scale", "scale.py", specialisations=shapes)
shift = env.TileShader("shift", "shift.py", specialisations=shapes)
library = env.MetalLibrary("both", [scale, shift])
"""
SHIFT = KERNEL.replace("sizes", "widths").replace("def scale", "def shift").replace("* 2.0", "+ 2.0")
FILES = {
    "SConstruct": SCONSTRUCT,
    "scale.py": KERNEL,
    "shift.py": SHIFT,
    "sizes.py": "TILE = 16\n",
    "widths.py": "TILE = 8\n",
}
ON_MACOS = 'env["TILELIB_METAL_SYSTEM"] = "Darwin"\nshapes ='
BY_HAND = """\
import tilewright.scons

tilewright.scons.check_variables()
env = Environment(tools=[tilewright.scons.generate])
shapes = {}
library = env.MetalLibrary("both", ["one.metal", "two.metal"])
"""
SOURCES = {
    "SConstruct": BY_HAND,
    "one.metal": '#include "own.h"\nkernel void one() {}\n',
    "two.metal": "kernel void two() {}\n",
    "own.h": "#define A 1\n",
}
MSL = {f"metal/{name}{suffix}" for name in ("scale", "shift") for suffix in (".metal", ".json")}
RECORD, LIBRARY = "metal/both.metallib.json", "metal/both.metallib"
AIRS = {"metal/both.air/one.air", "metal/both.air/two.air"}
MADE = MSL | {"metal/both.air/scale.air", "metal/both.air/shift.air", RECORD, LIBRARY}

XCRUN = f"""\
#!{sys.executable}
import hashlib, json, os, sys

words = sys.argv[1:]
answer = lambda name, usual="": os.environ.get("STAND_IN_" + name, usual)
if words[2:4] == ["--find", "metal"]:
    sys.exit("xcrun: error: unable to find utility" if answer("FIND") else 0)
if words[2:4] == ["metal", "--version"]:
    if answer("STUB"):
        sys.exit("error: cannot execute tool 'metal' due to missing Metal Toolchain")
    print(answer("VERSION", "Apple metal version 32023.1") + "\\nInstalledDir: /somewhere")
    sys.exit()
if words[2:3] == ["--show-sdk-version"]:
    print(answer("SDK", "26.1"))
    sys.exit()
with open(answer("LOG"), "a") as log:
    log.write(json.dumps([os.getcwd(), *words]) + "\\n")
made = words[words.index("-o") + 1]
inputs = [words[words.index("-c") + 1]] if "-c" in words else words[3 : words.index("-o")]
if answer("FAIL") and any(answer("FAIL") in name for name in inputs):
    open(made, "w").write("half")
    print("note: on standard output")
    sys.exit(inputs[0] + ":7:3: error: no matching function\\n  the second line")
if answer("WARN"):
    print("warning: unused variable", file=sys.stderr)
with open(made, "wb") as out:
    for name in inputs:
        out.write(hashlib.sha256(open(name, "rb").read()).hexdigest().encode())
"""


@pytest.fixture
def shaders(project: Callable[..., Sandbox]) -> Sandbox:
    return project("shaders", FILES)


@pytest.fixture
def mac(shaders: Sandbox) -> Sandbox:
    """The same project where the system is said to be macOS, with the stand-in first on PATH."""
    return with_xcrun(shaders)


@pytest.fixture
def sources(project: Callable[..., Sandbox]) -> Sandbox:
    """A library of two sources written by hand, on such a Mac."""
    return with_xcrun(project("sources", SOURCES))


def with_xcrun(project: Sandbox) -> Sandbox:
    tool = project.folder.parent / f"tools of {project.folder.name}" / "xcrun"
    tool.parent.mkdir()
    tool.write_text(XCRUN, encoding="utf-8")
    tool.chmod(0o755)
    project.environ |= {
        "PATH": f"{tool.parent}{os.pathsep}{project.environ['PATH']}",
        "STAND_IN_LOG": str(tool.with_name("log")),
    }
    project.edit("SConstruct", "shapes =", ON_MACOS)
    return project


def commands(project: Sandbox) -> list[list[str]]:
    """What the stand-in was asked to make since the last call: words without the folder of the output."""
    log = Path(project.environ["STAND_IN_LOG"])
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    assert {folder for folder, *_ in lines} <= {str(project.folder)}
    assert all(os.path.isabs(words[-1]) and not words[-1].startswith(str(project.folder)) for _, *words in lines)
    return sorted([*words[:-1], os.path.basename(words[-1])] for _, *words in lines)


def record(project: Sandbox, name: str = RECORD) -> dict[str, object]:
    found: dict[str, object] = json.loads(project.read(f"build/{name}"))
    return found


def air(source: str, made: str) -> list[str]:
    return [
        "-sdk", "macosx", "metal", "-std=metal3.0", "-mmacosx-version-min=13.0", "-O2",
        "-fmetal-math-mode=safe", "-fmetal-math-fp32-functions=precise", "-c", source, "-o", made,
    ]  # fmt: skip


LINK = [
    *("-sdk", "macosx", "metallib", "build/metal/both.air/scale.air", "build/metal/both.air/shift.air"),
    *("-o", "both.metallib"),
]


def test_elsewhere_the_msl_is_made_and_one_line_and_a_record_say_why_there_is_no_library(shaders: Sandbox) -> None:
    with_xcrun(shaders)
    shaders.edit("SConstruct", '"Darwin"', '"Linux"')
    run = shaders.scons("backends=metal")
    assert run.rebuilt("capture", "shader")
    assert {name for name in shaders.tree("build") if "tileir" not in name} == MSL | {RECORD}
    lines = [line for line in run.out.splitlines() if line.startswith("skipping")]
    line = "skipping: build/metal/both.metallib: the Metal compiler exists only on macOS; the MSL is written"
    assert lines == [line]
    found = record(shaders)
    assert (found["metallib"], found["reason"]) == ("skipped", line.split(": ")[-1])
    assert [each["compiled_by_apple"] for each in found["sources"]] == [False, False]  # type: ignore[attr-defined]
    again = shaders.scons("backends=metal")
    assert again.up_to_date()
    assert again.out.count(line) == 1, "a skip is told about in every run that would have the library"
    assert "skipping" not in shaders.scons("backends=metal", "build/metal/scale.metal").out
    assert "skipping" not in shaders.scons("backends=metal", "-n").out
    assert commands(shaders) == []
    assert shaders.scons("backends=metal", "-c").code == 0
    assert shaders.tree("build") == {}


def test_a_required_library_is_an_error_with_the_reason_and_leaves_no_record_of_a_skip(sources: Sandbox) -> None:
    sources.edit("SConstruct", '"Darwin"', '"Linux"')
    assert sources.scons().code == 0
    assert sources.tree("build").keys() == {RECORD}
    run = sources.scons("metal=required")
    assert run.code == 2
    assert "build/metal/both.metallib cannot be made here: the Metal compiler exists only on macOS" in run.err
    assert "without metal=required the MSL alone is made" in run.err
    assert "Traceback" not in run.err
    assert sources.tree("build") == {}
    sources.edit("SConstruct", '"two.metal"]', '"two.metal"], metal="required"')
    assert sources.scons().code == 2
    assert "`metal=always` is not known" in sources.scons("metal=always").err


def test_apple_s_tools_get_the_flags_of_each_artifact_and_only_what_changed(mac: Sandbox) -> None:
    assert mac.scons("backends=metal", "-j2").rebuilt("capture", "shader", "air", "metallib")
    assert {name for name in mac.tree("build") if "tileir" not in name} == MADE
    scale, shift = (air(f"build/metal/{name}.metal", f"{name}.air") for name in ("scale", "shift"))
    assert commands(mac) == [scale, shift, LINK]
    found = record(mac)
    assert (found["metallib"], found["compiler"], found["sdk"]) == ("compiled", "Apple metal version 32023.1", "26.1")
    assert [each["compiled_by_apple"] for each in found["sources"]] == [True, True]  # type: ignore[attr-defined]
    assert "skipping" not in mac.scons("backends=metal").out
    assert mac.scons("backends=metal", "metal=required").up_to_date()
    assert commands(mac) == []

    before = mac.tree("build")
    mac.edit("sizes.py", "16", "32")
    assert mac.scons("backends=metal").steps == ["capture", "shader", "air", "metallib"], "a tile size of one shader"
    assert commands(mac) == [scale, LINK]
    changed = {name for name, data in mac.tree("build").items() if before.get(name) != data}
    assert changed == {f"metal/{name}" for name in ("scale.metal", "scale.json", "both.air/scale.air")} | {
        "tileir/scale.tileir",
        RECORD,
        LIBRARY,
    }
    mac.edit("SConstruct", '"scale.py"', '"scale.py", options={"fast_math": True, "debug": True}')
    assert mac.scons("backends=metal").steps == ["shader", "air", "metallib"]
    fast = ["-fmetal-math-mode=fast", "-fmetal-math-fp32-functions=fast", "-gline-tables-only", "-frecord-sources"]
    assert commands(mac) == [[*scale[:6], *fast, *scale[8:]], LINK]
    assert mac.scons("-c").code == 0
    assert mac.tree("build") == {}


def test_another_compiler_or_sdk_compiles_everything_again(sources: Sandbox) -> None:
    assert sources.scons().steps == ["air", "air", "metallib"]
    other = {"STAND_IN_VERSION": "Apple metal version 2"}
    assert sources.scons(**other).steps == ["air", "air", "metallib"]
    assert record(sources)["compiler"] == "Apple metal version 2"
    assert sources.scons(**other).up_to_date()
    assert sources.scons(**other, STAND_IN_SDK="26.2").steps == ["air", "air", "metallib"]


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"STAND_IN_FIND": "1"}, "Command Line Tools only; install Xcode, then run xcode-select (xcrun: error: unable"),
        ({"STAND_IN_STUB": "1"}, "the Metal compiler is a stub; run xcodebuild -downloadComponent MetalToolchain"),
        ({"STAND_IN_SDK": "12.3"}, "`both` needs the macOS 13 SDK, this is 12.3"),
    ],
)
def test_each_reason_of_a_mac_is_told_and_is_an_error_where_the_library_is_required(
    sources: Sandbox, environ: dict[str, str], words: str
) -> None:
    run = sources.scons(**environ)
    assert run.rebuilt()
    assert run.out.count(f"skipping: build/metal/both.metallib: {words}") == 1
    assert sources.tree("build").keys() == {RECORD}
    assert words in sources.scons("metal=required", **environ).err


def test_a_library_follows_the_tools_as_they_come_and_go(sources: Sandbox) -> None:
    assert sources.scons(STAND_IN_FIND="1").rebuilt()
    assert sources.scons().rebuilt("air", "metallib")
    assert record(sources)["metallib"] == "compiled"
    assert sources.scons(STAND_IN_FIND="1").code == 0
    assert record(sources)["metallib"] == "skipped"
    assert LIBRARY not in sources.tree("build"), "the library of before does not pass for one of this run"


def test_an_older_sdk_skips_only_the_library_that_needs_a_newer_one(mac: Sandbox) -> None:
    product = """\
product = env.TileShader("product", "product.py", specialisations={"a": (32, 32), "b": (32, 32), "c": (32, 32)},
                         options={"metal": {"metal_mpp": True}})
env.MetalLibrary("matrices", product)
"""
    kernel = (Path(__file__).parents[2] / "examples" / "shaders" / "native_gemm.py").read_text(encoding="utf-8")
    mac.write({"SConstruct": (mac.folder / "SConstruct").read_text() + product, "product.py": kernel})
    run = mac.scons("backends=metal", STAND_IN_SDK="15.5")
    assert run.code == 0, run
    assert "skipping: build/metal/matrices.metallib: `matrices` needs the macOS 26 SDK, this is 15.5" in run.out
    assert {LIBRARY, "metal/matrices.metallib.json"} <= mac.tree("build").keys()
    assert "metal/matrices.metallib" not in mac.tree("build")
    commands(mac)
    assert mac.scons("backends=metal").code == 0
    (words,) = (each for each in commands(mac) if each[-1] == "product.air")
    assert {"-std=metal4.0", "-mmacosx-version-min=26.0"} <= set(words)
    mac.edit("SConstruct", "[scale, shift]", "[scale, shift, product]")
    mac.edit("SConstruct", "library = ", "")
    text = (mac.folder / "SConstruct").read_text()
    line = 'env.MetalLibrary("both", [scale, shift, product])\n'
    mac.write({"SConstruct": text.replace(line, "") + line})
    run = mac.scons("backends=metal")
    assert run.code == 2
    mixture = "`both` would mix MSL 3.0 (scale.metal, shift.metal) and MSL 4.0 (product.metal)"
    assert mixture in run.err
    assert "make a MetalLibrary of each version" in run.err


def test_a_compiler_that_fails_is_shown_whole_and_leaves_nothing(sources: Sandbox) -> None:
    run = sources.scons(STAND_IN_FAIL="one.metal")
    assert run.code == 2
    assert "[build/metal/both.air/one.air] error: `xcrun metal` failed with status 1" in run.err
    said = ("note: on standard output", "one.metal:7:3: error: no matching function", "  the second line")
    assert all(f"    {line}" in run.err for line in said), run.err
    assert "Traceback" not in run.err
    assert sources.tree("build") == {}
    run = sources.scons(STAND_IN_FAIL="one.air", STAND_IN_WARN="1")
    assert "two.metal:\nwarning: unused variable\n" in run.out
    assert "[build/metal/both.metallib] error: `xcrun metallib` failed with status 1" in run.err
    assert sources.tree("build").keys() == AIRS
    assert sources.scons().rebuilt("metallib")
    before = sources.tree("build")
    sources.edit("one.metal", "one()", "another()")
    assert sources.scons(STAND_IN_FAIL="one.metal").code == 2
    assert sources.tree("build") == before
    sources.edit("one.metal", "another()", "one()")
    sources.write({"build/metal/both.metallib": "nonsense"})
    assert sources.scons().rebuilt("metallib"), "an edited output is made again"


def test_a_source_written_by_hand_follows_its_headers_and_verbose_shows_the_commands(sources: Sandbox) -> None:
    sources.edit("SConstruct", '"two.metal"]', '"two.metal"], language="3.1"')
    run = sources.scons("verbose=1")
    assert run.code == 0, run
    words = air("one.metal", "one.air")
    words[3:5] = ["-std=metal3.1", "-mmacosx-version-min=14.0"]
    assert f"xcrun {' '.join(words[:-1])} build/metal/both.air/one.air" in run.out
    inputs = "build/metal/both.air/one.air build/metal/both.air/two.air"
    assert f"xcrun -sdk macosx metallib {inputs} -o build/metal/both.metallib" in run.out
    assert words in commands(sources)
    sources.write({"own.h": "#define A 2\n"})
    assert sources.scons().steps == ["air"], "one of them includes it; the stand-in makes the same bytes"


def test_what_tilewright_compile_wrote_is_compiled_by_the_json_beside_it(mac: Sandbox) -> None:
    shapes = ("--set", "x=(1003,)", "--set", "y=(1003,)", "--option", "fast_math=True", "--name", "scale")
    assert mac.tilewright("compile", "scale.py", "--backend", "metal", *shapes, "-o", "made").code == 0
    mac.edit("SConstruct", "[scale, shift]", '"made/metal/scale.metal"')
    assert mac.scons("build/metal/both.metallib", "backends=metal").code == 0
    assert "-fmetal-math-mode=fast" in commands(mac)[0]
    assert record(mac)["sources"][0]["entry"] == "tile_scale"  # type: ignore[index]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"both"', '"a b"', ("`a b` cannot name a Metal library",)),
        ("[scale, shift]", "[]", ("`both` has no sources", 'env.MetalLibrary("both", [shader, "own.metal"])')),
        ("[scale, shift]", '[scale, "scale.py"]', ("`scale.py` is no MSL",)),
        ("[scale, shift]", '[scale, "scale.metal"]', ("two sources `scale.metal`",)),
        ("[scale, shift]", '"own.metal", language="5.0"', ("there is no MSL 5.0 here", "3.0, 3.1, 3.2, 4.0")),
        ("[scale, shift]", '[scale, "own.metal"], language="3.2"', ("mix MSL 3.0 (scale.metal) and MSL 3.2",)),
        ("[scale, shift]", "[scale], mettal='required'", ("`MetalLibrary` takes no `mettal`",)),
        ("library = ", 'env.MetalLibrary("both", scale)\nlibrary = ', ("two Metal libraries `both`",)),
        ('"shift.py"', '"shift.py", backends=["cuda"], arch="sm_90"', ("given `shift`, of which this run writes no",)),
    ],
)
def test_what_a_script_asks_wrongly_is_said_at_its_line(
    shaders: Sandbox, old: str, new: str, words: tuple[str, ...]
) -> None:
    shaders.edit("SConstruct", old, new)
    run = shaders.scons("backends=metal")
    assert run.code == 2
    assert all(word in run.err for word in ("SConstruct:", *words)), run.err
    assert "Traceback" not in run.err
    assert shaders.tree("build") == {}


def test_two_kernels_of_one_name_are_refused_without_a_mac_too(shaders: Sandbox) -> None:
    shaders.edit("shift.py", "def shift", "def scale")
    run = shaders.scons("backends=metal")
    assert run.code == 2
    assert "`scale.metal` and `shift.metal` both have the kernel `tile_scale`" in run.err
    assert RECORD not in shaders.tree("build")


def test_a_run_without_msl_declares_no_library_and_a_package_waits_for_one(mac: Sandbox) -> None:
    line = 'env.TilePackage("kernels", [library], version="1.0")\n'
    mac.write({"SConstruct": (mac.folder / "SConstruct").read_text() + line})
    assert mac.scons("arch=sm_90").rebuilt("capture", "shader")
    assert not [name for name in mac.tree("build") if name.startswith("metal/")]
    run = mac.scons("backends=metal", "package", STAND_IN_FIND="1")
    assert run.code == 2
    assert "both.metallib.json, which was skipped" in run.err
    assert "holds no tile library" in mac.scons("backends=metal", "package").err, "it is not skipped now"
