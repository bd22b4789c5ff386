"""Bad input through SCons and through the command line: one clear error, and the tree is as it was."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from end_to_end import toolkits
from end_to_end.sandbox import DESCRIPTION, LIMIT, RELU, SCONSTRUCT, Sandbox
from tilewright.toolchain.toolkit import Toolkit

TESTS = Path(__file__).parents[1]
REFUSALS = TESTS / "sources/cuda/refusals"
RULES = TESTS / "exports/rules"
GOLDEN = TESTS / "golden"

TILE = "[[tile_export(tile_shape = 128)]] __device__ "
RELU_WITH = "[[tile_export(tile_shape = 128, {})]] __device__ float relu(float x) {{ return x; }}\n"
BROKEN_IN_SOURCE = {
    "arch-malformed": RELU_WITH.format('arch = {"turing"}'),
    "compiler-name": TILE + "float relu(float __nv_x) { return __nv_x; }\n",
    "duplicate-arch": RELU_WITH.format('arch = {"sm_90", "sm_90"}'),
    "duplicate-name": RELU_WITH.format('symbol = "other"')
    + TILE.replace("128", '128, name = "relu"')
    + "float b(float x) { return x; }\n",
    "duplicate-symbol": RELU_WITH.format('symbol = "one"')
    + TILE.replace("128", '128, symbol = "one"')
    + "float b(float x) { return x; }\n",
    "footprint-mismatch": TILE + "void window(int (&acc)[4], const int& bias) { acc[0] += bias; }\n",
    "footprint-not-a-divisor": TILE + "void scale(float (&x)[3]) { x[0] = 0; }\n",
    "keyword-name": TILE + "float relu(float fn) { return fn; }\n",
    "no-output": TILE + "void scale(float x) {}\n",
    "not-an-identifier": RELU_WITH.format('name = "x){}; evil("'),
    "parameter-takes-extent": "[[tile_export]] __device__ float any(float N) { return N; }\n",
    "parameter-takes-return-slot": TILE + "float relu(float relu_out) { return relu_out; }\n",
    "reserved-prefix": RELU_WITH.format('symbol = "cuda_oxide_relu"'),
    "split-outputs": TILE + "float f(float& a, float b) { a = b; return b; }\n",
    "symbol-is-a-function": "__device__ float clamp(float x) { return x; }\n" + RELU_WITH.format('symbol = "clamp"'),
    "tile-shape-not-positive": RELU_WITH.replace("128", "0").format('sync = "none"'),
    "tile-shape-not-power-of-two": RELU_WITH.replace("128", "100").format('sync = "none"'),
    "tile-shape-too-large": RELU_WITH.replace("128", "33554432").format('sync = "none"'),
    "warp-not-filled": RELU_WITH.replace("128", "16").format('sync = "warp"'),
}
"""A source that breaks each of the rules that a C++ source can break."""

EACH_SOURCE = """\
import tilewright.scons

env = Environment(tools=["default", tilewright.scons.generate])
for number, folder in enumerate(sorted(Glob("cases/*"), key=str)):
    env.TileLibrary(f"library{number}", f"{folder}/bad.cu")
"""
EACH_DESCRIPTION = """\
import tilewright.scons

env = Environment(tools=[tilewright.scons.generate])
for folder in Glob("cases/*"):
    env.TileBytecode(f"out/{folder.name}/one.iface.tilebc", f"{folder}/bad.json")
"""
EACH_COMMAND = """\
import sys
from tilewright.cli import main

for words in sys.stdin.read().splitlines():
    print(f"@@ {words}", file=sys.stderr)
    code = main(words.split(" "))
    print(f"exit code {code}", file=sys.stderr)
"""


def several_commands(sandbox: Sandbox, commands: list[str]) -> dict[str, str]:
    """Runs the command line once a line, in one process; what each printed on standard error, then its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", EACH_COMMAND],
        input="\n".join(commands),
        cwd=sandbox.folder,
        env=sandbox.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == ""
    return dict(part.rstrip("\n").split("\n", 1) for part in done.stderr.split("@@ ")[1:])


def expected_messages() -> dict[str, str]:
    """The whole message of every refused source, by the name of its folder below `cases`."""
    messages = {}
    for folder in REFUSALS.iterdir():
        text = (folder / "message.txt").read_text(encoding="utf-8").rstrip("\n")
        text = text.replace("searched in .", f"searched in cases/{folder.name}")
        messages[folder.name] = re.sub(r"(?m)^bad\.cu:", f"cases/{folder.name}/bad.cu:", text)
    return messages


def test_every_refused_source_is_one_message_and_nothing_is_left(project: Callable[..., Sandbox]) -> None:
    messages = expected_messages()
    sources = {name: (REFUSALS / name / "bad.cu").read_text(encoding="utf-8") for name in messages}
    sources |= {f"rule-{rule}": text for rule, text in BROKEN_IN_SOURCE.items()}
    files = {f"cases/{name}/bad.cu": text for name, text in sources.items()}
    every = project("every", {"SConstruct": EACH_SOURCE, **files})
    before = every.listing()

    run = every.scons("arch=sm_120", "-k", "-j2")
    assert run.code == 2
    assert "Traceback" not in run.err
    assert every.listing() == before
    said = {error.split("] ", 1)[0].rpartition("/")[2].split(".")[0]: error.split("] ", 1)[1] for error in run.errors}
    by_name = {name: said[f"library{number}"] for number, name in enumerate(sorted(sources))}
    assert len(said) == len(run.errors) == len(sources)
    assert {name: by_name[name] for name in messages} == messages
    for rule in BROKEN_IN_SOURCE:
        assert re.match(rf"cases/rule-{rule}/bad\.cu:\d+:\d+: error: .*\[{rule}\]\n  hint: ", by_name[f"rule-{rule}"])

    commands = {name: f"build cases/{name}/bad.cu --arch sm_120" for name in sources}
    answers = several_commands(every, list(commands.values()))
    assert every.listing() == before
    for name, command in commands.items():
        assert answers[command] == f"{by_name[name]}\nexit code 1", "SCons and the command line say the same"


def test_every_rule_is_applied_to_a_description_that_was_edited_by_hand(project: Callable[..., Sandbox]) -> None:
    broken = {
        "cut": DESCRIPTION[:200],
        "no-json": "hello",
        "empty": "",
        "unknown-field": DESCRIPTION.replace('"doc": ""', '"doc": "", "colour": "red"'),
        "newer-schema": DESCRIPTION.replace('"schema": 1', '"schema": 99'),
        "unknown-type": DESCRIPTION.replace('"f32"', '"bool"'),
        "deep": "[" * 100_000,
    }
    messages = {}
    for folder in RULES.iterdir():
        broken[folder.name] = (folder / "bad.json").read_text(encoding="utf-8")
        text = (folder / "message.txt").read_text(encoding="utf-8").rstrip("\n")
        messages[folder.name] = re.sub(r"(?m)^bad\.json:", f"cases/{folder.name}/bad.json:", text)
    files = {f"cases/{name}/bad.json": text for name, text in broken.items()}
    every = project("every", {"SConstruct": EACH_DESCRIPTION, **files})
    before = every.listing()
    run = every.scons("-k", "-j2")
    assert run.code == 2
    assert "Traceback" not in run.err
    assert every.listing() == before
    said = {error.split("/", 2)[1]: error.split("] ", 1)[1] for error in run.errors}
    assert said.keys() == broken.keys()
    assert len(run.errors) == len(broken)
    assert {name: said[name] for name in messages} == messages
    for name in broken.keys() - messages.keys():
        assert said[name].startswith(f"cases/{name}/bad.json")
        assert ": error: " in said[name]


def test_an_edit_that_breaks_a_rule_leaves_the_last_good_build_alone(sandbox: Sandbox) -> None:
    assert sandbox.scons("arch=sm_120").code == 0
    good = sandbox.listing()
    sandbox.edit("relu.cu", "tile_shape = 128", "tile_shape = 100")
    for _ in range(2):
        run = sandbox.scons("arch=sm_120")
        assert run.code == 2
        assert len(run.errors) == 1
        assert {**sandbox.listing(), "relu.cu": good["relu.cu"]} == good
    assert sandbox.tilewright("build", "relu.cu", "--arch", "sm_120", "-o", "build/sm_120/relu.tilelib").code == 1
    assert {**sandbox.listing(), "relu.cu": good["relu.cu"]} == good
    sandbox.write({"relu.cu": RELU})
    assert sandbox.scons("arch=sm_120").rebuilt() or sandbox.scons("arch=sm_120").up_to_date()
    assert sandbox.listing() == good

    sandbox.edit("relu.cu", "x > LIMIT", "x > NOTHING")
    broken = sandbox.scons("arch=sm_120")
    assert broken.code == 2
    assert "relu.cu:5" in broken.errors[0]
    changed = {name for name, data in sandbox.listing().items() if good.get(name) != data}
    assert changed == {"relu.cu", "build/sm_120/relu.device.cu"}
    sandbox.write({"relu.cu": RELU})
    assert sandbox.scons("arch=sm_120").rebuilt("exports")
    assert sandbox.listing() == good


def test_without_any_toolkit_the_build_says_what_to_install(sandbox: Sandbox, tmp_path: Path) -> None:
    bare = toolkits.without_any(tmp_path / "bare")
    before = sandbox.listing()
    missing = "error: NVRTC is missing: no part of a CUDA toolkit was found\n  hint: pip install "
    for arguments in (["arch=sm_120"], ["arch=sm_120", "library_optional=1"], ["arch=sm_120", "-n"], []):
        run = sandbox.scons(*arguments, **bare)
        assert run.code == 2
        assert len(run.errors) == 1
        assert missing in run.errors[0]
    for option in ("-c", "-h"):
        assert sandbox.scons(option, **bare).code == 0
    build = sandbox.tilewright("build", "relu.cu", "--arch", "sm_120", **bare)
    assert (build.code, build.out) == (1, "")
    assert build.err.startswith(missing)
    doctor = sandbox.tilewright("doctor", **bare)
    assert doctor.code == 1
    assert doctor.out.startswith("CUDA toolkit: none found\n")
    assert sandbox.listing() == before


def test_a_toolkit_without_assembler_makes_everything_but_the_library(
    project: Callable[..., Sandbox], tmp_path: Path, toolkit: Toolkit
) -> None:
    plain = toolkits.without_assembler(tmp_path / "plain", toolkit)
    script = SCONSTRUCT + 'second = env.TileLibrary("second", "relu.cu")\n'
    two = project("two", {"SConstruct": script, "relu.cu": RELU, "limit.cuh": LIMIT})
    run = two.scons("arch=sm_120", **plain)
    assert run.code == 2
    assert run.out.count("\nTile library skipped: no tileiras was found; the descriptions need one that lists ") == 2
    assert run.out.count("\nTo install one: pip install ") == 2
    assert run.out.count("\n  tileiras --preview-create-tile-lib --preview-interface=build/sm_120/") == 2
    assert [error.partition(" was skipped")[0] for error in run.errors] == [
        f"[build/sm_120/{name}.tilelib] {name}.tilelib" for name in ("relu", "second")
    ]
    suffixes = (".device.cu", ".iface.tilebc", ".impl.tilebc", ".ltoir", ".tileexports.json", ".tilelib.mlir")
    written = two.tree("build", "sm_120")
    assert sorted(written) == sorted(name + suffix for name in ("relu", "second") for suffix in suffixes)

    build = two.tilewright("build", "relu.cu", "--arch", "sm_120", "-o", "cli/relu.tilelib", **plain)
    assert build.code == 2
    assert "\nTile library skipped: no tileiras was found" in build.out
    assert "error" not in build.err
    assert all(written[name] == data for name, data in two.tree("cli").items())
    assert two.tilewright("doctor", **plain).code == 1

    back = two.scons("arch=sm_120")
    assert back.rebuilt("ltoir", "library"), "the wheels know the version of their NVRTC, links to it do not"
    assert {name: data for name, data in two.tree("build", "sm_120").items() if name in written} == written


@pytest.mark.parametrize("blocked", ["build", "build/sm_120"])
def test_a_file_where_a_folder_should_be_is_one_error(sandbox: Sandbox, blocked: str) -> None:
    sandbox.write({blocked: "mine"})
    before = sandbox.listing()
    run = sandbox.scons("arch=sm_120")
    assert run.code == 2
    assert len(run.errors) == 1
    assert f"`{blocked}` is a file" in run.errors[0]
    build = sandbox.tilewright("build", "relu.cu", "--arch", "sm_120")
    assert build.code == 1
    assert build.err.count("error: ") == 1
    assert f"`{blocked}` is a file, and a folder is needed there\n  hint: move `{blocked}` away" in build.err
    assert sandbox.listing() == before


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """A file system of 32 kB without a free byte, mounted at a folder."""
    folder.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "none", folder], check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        (folder / "filler").write_bytes(bytes(32 << 10))
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_is_one_error_and_a_disk_with_space_again_is_enough(sandbox: Sandbox) -> None:
    with full_disk(sandbox.folder / "build"):
        before = sandbox.listing()
        run = sandbox.scons("arch=sm_120")
        assert run.code == 2
        assert len(run.errors) == 1
        assert "no space is left on the disk" in run.errors[0]
        build = sandbox.tilewright("build", "relu.cu", "--arch", "sm_120")
        assert build.code == 1
        assert build.err.count("error: ") == 1
        assert "no space is left on the disk\n  hint: free some space" in build.err
        assert "Traceback" not in run.err + build.err
        assert sandbox.listing() == before
        (sandbox.folder / "build/filler").unlink()
        assert sandbox.scons("arch=sm_120").code == 0


def test_a_source_that_nobody_may_write_beside_is_built_elsewhere(sandbox: Sandbox, tmp_path: Path) -> None:
    """A read-only file system where root runs the tests, permission bits elsewhere."""
    out = tmp_path / "out"
    out.mkdir()
    sandbox.edit("SConstruct", "env = ", f"SConsignFile({str(out / 'records')!r})\nenv = ")
    sandbox.edit("SConstruct", "generate]", f"generate], TILELIB_BUILD_DIR={str(out)!r}")
    sandbox.edit("SConstruct", "relu = env", "Default(env")
    sandbox.edit("SConstruct", '"relu.cu")', '"relu.cu"))')
    with read_only(sandbox.folder):
        before = sandbox.listing()
        elsewhere = sandbox.scons("arch=sm_120")
        assert elsewhere.code == 0, elsewhere
        assert sandbox.scons("arch=sm_120").up_to_date()
        assert sandbox.tilewright("build", "relu.cu", "--arch", "sm_120", "-o", f"{out}/cli/relu.tilelib").code == 0
        refused = sandbox.tilewright("build", "relu.cu", "--arch", "sm_120")
        assert refused.code == 1
        assert refused.err.count("error: cannot write ") == 1
        assert "hint: " in refused.err
        assert sandbox.listing() == before
    assert (out / "sm_120/relu.tilelib").read_bytes() == (out / "cli/relu.tilelib").read_bytes()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing can be written below the folder."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    commands = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder])
    if any(subprocess.run(command, check=False).returncode for command in commands):
        pytest.skip("no file system can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


FUZZ = """\
import io, resource, sys
from contextlib import redirect_stderr, redirect_stdout
from tilewright.cli import main

main(["dump", sys.argv[1]])
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
for name in sys.argv[1:]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["dump", name])
    refused = err.getvalue().startswith(f"{name}:byte ") or err.getvalue().startswith(f"{name}: error: ")
    good = (code, err.getvalue()) == (0, "") or (code == 1 and refused and err.getvalue().count("error: ") == 1)
    if not good or "bug in tilewright" in err.getvalue():
        sys.exit(f"{name}: {code} {err.getvalue()}")
"""


def test_any_bytes_given_to_dump_are_text_or_one_error(sandbox: Sandbox) -> None:
    chance = random.Random(1)
    whole = (GOLDEN / "three.impl.tilebc").read_bytes()
    samples = [whole, b"", *(whole[:cut] for cut in range(1, len(whole), 40))]
    samples += [chance.randbytes(size) for size in (1, 7, 8, 9, 64, 5000)]
    for _ in range(250):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(8, len(damaged))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        samples.append(bytes(damaged))
    names = [f"sample{number}.tilebc" for number in range(len(samples))]
    for name, data in zip(names, samples, strict=True):
        (sandbox.folder / name).write_bytes(data)
    command = [sys.executable, "-c", FUZZ, *names]
    done = subprocess.run(
        command, cwd=sandbox.folder, env=sandbox.environ, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    cut = sandbox.tilewright("dump", names[4])
    assert (cut.code, cut.out) == (1, "")
    assert cut.err.startswith(f"{names[4]}:byte ")


def test_files_that_are_no_source_text_are_one_error_each(sandbox: Sandbox) -> None:
    odd = {
        "latin.cu": (b"// caf\xe9\n" + RELU.encode(), "is not UTF-8 text: byte 0xe9"),
        "nul.cu": (b"int a\0b;\n" + RELU.encode(), "holds a NUL byte"),
        "noise.cu": (random.Random(2).randbytes(5000), "error: "),
        "deep.cu": (b"(" * 100_000, "has no tile export"),
        "header.cu": (RELU.replace("limit", "latin").encode(), "latin.cuh:1: error: the file is not UTF-8 text"),
        "absent.cu": (RELU.replace("limit", "absent").encode(), 'there is no header "absent.cuh"'),
    }
    for name, (data, _) in odd.items():
        (sandbox.folder / name).write_bytes(data)
    (sandbox.folder / "latin.cuh").write_bytes(b"// caf\xe9\n")
    (sandbox.folder / "folder.cu").mkdir()
    (sandbox.folder / "loop.cu").symlink_to("loop.cu")
    os.mkfifo(sandbox.folder / "pipe.cu")
    before = sandbox.listing()
    says = {name: words for name, (_, words) in odd.items()}
    says |= {"folder.cu": "is a folder", "loop.cu": "cannot read `loop.cu`: ", "pipe.cu": "is not a regular file"}
    commands = {name: f"build {name} --arch sm_120" for name in says}
    answers = several_commands(sandbox, list(commands.values()))
    for name, words in says.items():
        message = answers[commands[name]]
        assert words in message
        assert message.count("error: ") == 1
        assert message.endswith("\nexit code 1")
        assert "bug in" not in message
    assert sandbox.listing() == before


def test_json_reports_stay_json_when_something_is_wrong(sandbox: Sandbox, tmp_path: Path) -> None:
    doctor = sandbox.tilewright("doctor", "--json", **toolkits.without_any(tmp_path / "bare"))
    assert doctor.code == 1
    assert json.loads(doctor.out)["can_pack"] is False
