"""`cache=`: what one checkout has made another takes, whole and right, and the cache can never break a build."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cache.servers import serving
from end_to_end.sandbox import LIMIT, RELU, SCONSTRUCT, Run, Sandbox, finished
from tilewright.toolchain.toolkit import Toolkit

BUILD = ("arch=sm_120", "-Q")
STEPS = ["exports", "ltoir", "bytecode", "library"]
Project = Callable[..., Sandbox]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def build(one: Sandbox, cache: object, *more: str, **environ: str) -> Run:
    return one.scons(*BUILD, f"cache={cache}", *more, **environ)


def retrieved(run: Run) -> int:
    return run.out.count("Retrieved `")


def files_of(cache: Path, kind: str) -> list[Path]:
    return sorted(path for path in (cache / "tilewright-1" / kind).rglob("*") if path.is_file())


def test_a_second_checkout_takes_everything_and_is_the_same(sandbox: Sandbox, project: Project, cache: Path) -> None:
    first = build(sandbox, cache)
    assert first.code == 0, first
    assert sorted(first.steps) == sorted(STEPS)
    assert "tilewright cache: 0 hits, 4 misses, 0 bytes restored, 0.0 s saved\n" in first.out
    other = project("another/folder")
    second = build(other, cache, "-j4")
    assert (second.code, second.steps, retrieved(second)) == (0, [], 4)
    assert "tilewright cache: 4 hits, 0 misses, " in second.out
    assert other.tree("build") == sandbox.tree("build")
    third = build(other, cache)
    assert "is up to date" in third.out
    assert "tilewright cache" not in third.out
    other.edit("limit.cuh", "0.0f", "1.0f")
    assert build(other, cache).rebuilt("exports", "ltoir", "library")
    assert build(sandbox, cache).steps == []


def test_no_tool_runs_where_the_cache_is_warm(
    sandbox: Sandbox, project: Project, cache: Path, toolkit: Toolkit, tmp_path: Path
) -> None:
    assert toolkit.assembler is not None
    build(sandbox, cache)
    answering = tmp_path / "answering"
    answering.write_text(
        f'#!/bin/sh\ncase "$1" in\n--version|--list-versions|--help) exec "{toolkit.assembler.path}" "$@" ;;\n'
        "*) echo no >&2; exit 9 ;;\nesac\n"
    )
    answering.chmod(0o755)
    tools = {"CUTILE_TILEIRAS_PATH": str(answering)}
    assert build(project("cold"), tmp_path / "empty", **tools).code == 2
    warm = build(project("warm"), cache, **tools)
    assert (warm.code, warm.steps, retrieved(warm)) == (0, [], 4)


def test_variant_folders_share_entries(project: Project, cache: Path) -> None:
    sconstruct = """\
import tilewright.scons

env = Environment(tools=[tilewright.scons.generate])
for variant in ("debug", "release"):
    SConscript("libs/SConscript", variant_dir=f"out/{variant}", duplicate=False, exports="env")
"""
    script = 'Import("env")\nenv.TileLibrary("relu", "relu.cu")\n'
    files = {"SConstruct": sconstruct, "libs/SConscript": script, "libs/relu.cu": RELU, "libs/limit.cuh": LIMIT}
    larger = project("larger", files)
    run = build(larger, cache, "-j1")
    assert sorted(run.steps) == sorted(STEPS)
    assert retrieved(run) == 4
    assert larger.tree("out", "debug") == larger.tree("out", "release")


CHANGES: dict[str, tuple[Callable[[Sandbox], object], dict[str, str], int]] = {
    "nothing": (lambda one: None, {}, 4),
    "a comment in the source": (lambda one: one.edit("relu.cu", "Elementwise", "Each"), {}, 0),
    "a header": (lambda one: one.edit("limit.cuh", "0.0f", "2.0f"), {}, 0),
    "the name of the source": (
        lambda one: (one.write({"r.cu": RELU}), one.edit("SConstruct", "relu.cu", "r.cu")),
        {},
        0,
    ),
    "the name of the library": (lambda one: one.edit("SConstruct", '"relu"', '"other"'), {}, 0),
    "the include path": (
        lambda one: one.edit("SConstruct", "generate])", 'generate], TILELIB_INCLUDE_PATH=["x"])'),
        {},
        0,
    ),
    "the architecture": (lambda one: one.edit("SConstruct", 'relu.cu")', 'relu.cu", ltoir_arch="compute_90")'), {}, 2),
    "the identity of the compiler": (
        lambda one: one.edit("SConstruct", "generate])", 'generate], TILELIB_LTOIR_SIG="other")'),
        {},
        2,
    ),
    "the identity of the front end": (
        lambda one: one.edit("SConstruct", "generate])", 'generate], TILELIB_EXPORTS_SIG="other")'),
        {},
        0,
    ),
    "the identity of the assembler": (
        lambda one: one.edit("SConstruct", "generate])", 'generate], TILELIB_LIBRARY_SIG="other")'),
        {},
        3,
    ),
    "a variable that compilers read": (lambda one: None, {"NVCC_APPEND_FLAGS": "-O0"}, 0),
    "another such variable": (lambda one: None, {"SOURCE_DATE_EPOCH": "7"}, 0),
    "the kind of machine": (
        lambda one: one.edit("SConstruct", "relu = ", "import platform\nplatform.machine = lambda: 'other'\nrelu = "),
        {},
        0,
    ),
    "the version of Python": (
        lambda one: one.edit(
            "SConstruct",
            "relu = ",
            "import platform\nplatform.python_version_tuple = lambda: ('3', '99', '0')\nrelu = ",
        ),
        {},
        0,
    ),
    "the form of entries": (
        lambda one: one.edit(
            "SConstruct", "relu = ", "from tilewright.scons import caching\ncaching.FORMAT = 'other'\nrelu = "
        ),
        {},
        0,
    ),
    "a package that shapes outputs": (
        lambda one: one.edit(
            "SConstruct",
            "relu = ",
            "import importlib.metadata\nimportlib.metadata.version = lambda name: '0'\nrelu = ",
        ),
        {},
        0,
    ),
}


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache that holds the library of the sandbox."""
    folder = tmp_path_factory.mktemp("warm")
    one = Sandbox(folder / "project")
    one.write(
        {
            "SConstruct": SCONSTRUCT.replace("check_variables()", "check_variables(['x'])"),
            "relu.cu": RELU,
            "limit.cuh": LIMIT,
        }
    )
    assert build(one, folder / "cache").code == 0
    return folder / "cache"


@pytest.mark.parametrize("change", CHANGES)
def test_every_component_of_the_key_counts(sandbox: Sandbox, warm: Path, change: str) -> None:
    """Looked at with `-n`: a step whose outputs would come from the cache is told so, others would run."""
    edit, environ, kept = CHANGES[change]
    edit(sandbox)
    looked = build(sandbox, warm, "-n", **environ)
    assert looked.code == 0, looked
    assert retrieved(looked) == kept
    assert len(looked.steps) == 4 - kept
    assert not (sandbox.folder / "build").exists()


def test_a_dry_run_writes_neither_tree_nor_cache(sandbox: Sandbox, project: Project, cache: Path) -> None:
    assert build(sandbox, cache, "-n").code == 0
    assert not cache.exists()
    build(sandbox, cache)
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    other = project("other")
    listing = other.listing()
    looked = build(other, cache, "-n")
    assert (looked.steps, retrieved(looked)) == ([], 4)
    assert other.listing() == listing
    assert {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()} == before


def test_rotten_entries_are_made_again_and_the_tree_is_right(sandbox: Sandbox, project: Project, cache: Path) -> None:
    build(sandbox, cache)
    for number, damage in enumerate(
        (lambda data: data[:-1] + b"?", lambda data: data[: len(data) // 2], lambda data: b"")
    ):
        for blob in files_of(cache, "cas"):
            blob.write_bytes(damage(blob.read_bytes()))
        other = project(f"other{number}")
        run = build(other, cache)
        assert sorted(run.steps) == sorted(STEPS)
        assert run.out.count(f"tilewright cache: {cache} holds rotten entries; they are removed\n") == 1
        assert other.tree("build") == sandbox.tree("build")
    assert build(project("last"), cache).steps == []


def test_a_step_is_restored_with_all_its_outputs_or_not_at_all(sandbox: Sandbox, project: Project, cache: Path) -> None:
    build(sandbox, cache)
    text = sandbox.read("build/sm_120/relu.tilelib.mlir")
    (blob,) = (path for path in files_of(cache, "cas") if path.read_bytes() == text)
    blob.unlink()
    other = project("other")
    assert build(other, cache).rebuilt("bytecode")
    assert other.tree("build") == sandbox.tree("build")


def test_the_options_of_scons_rule_this_cache_too(sandbox: Sandbox, project: Project, cache: Path) -> None:
    assert sorted(build(sandbox, cache, "--cache-readonly").steps) == sorted(STEPS)
    assert files_of(cache, "ac") == []
    assert build(sandbox, cache).steps == []
    forced = build(sandbox, cache, "--cache-force")
    assert (forced.code, forced.err, forced.steps) == (0, "", [])
    assert len(files_of(cache, "ac")) == 4
    assert build(project("first"), cache).steps == []
    assert sorted(build(project("disabled"), cache, "--cache-disable").steps) == sorted(STEPS)
    assert build(project("other"), cache, "--cache-readonly").steps == []


def test_six_cold_builds_at_once_share_one_empty_cache(project: Project, cache: Path) -> None:
    several = [project(f"project{number}") for number in range(6)]
    started = [one.start(*BUILD, f"cache={cache}", "-j2") for one in several]
    runs = [finished(process) for process in started]
    assert [run.code for run in runs] == [0] * 6
    assert [run.err for run in runs] == [""] * 6
    assert all(one.tree("build") == several[0].tree("build") for one in several)
    assert build(project("last"), cache).steps == []


def test_a_build_killed_at_any_time_leaves_a_cache_that_is_right(
    sandbox: Sandbox, project: Project, cache: Path
) -> None:
    build(sandbox, cache.with_name("elsewhere"))
    wanted = sandbox.tree("build")
    chance = random.Random(5)
    for number in range(8):
        process = project(f"killed{number}").start(*BUILD, f"cache={cache}")
        time.sleep(chance.uniform(0.3, 1.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    other = project("other")
    assert build(other, cache).code == 0
    assert other.tree("build") == wanted


LATE = """
import os


def late(target, source, env):
    if os.environ.get("LATE"):
        with open("limit.cuh", "w") as file:
            file.write("#define LIMIT 3.0f\\n")


env.AddPostAction(relu["sm_120"].ltoir, env.Action(late, "late"))
"""


def test_what_was_made_while_a_source_was_edited_is_never_given_to_others(
    sandbox: Sandbox, project: Project, cache: Path
) -> None:
    """The header changes after the compiler has read it, before its outputs are added."""
    edited, clean = project("edited"), project("clean")
    for one in (sandbox, edited, clean):
        one.write({"SConstruct": SCONSTRUCT + LATE})
    for one in (edited, clean):
        one.write({"limit.cuh": "#define LIMIT 3.0f\n"})
    assert clean.scons(*BUILD).code == 0
    assert sorted(build(sandbox, cache, LATE="1").steps) == sorted(STEPS)
    assert "ltoir" in build(edited, cache).steps
    assert edited.tree("build") == clean.tree("build")
    assert "ltoir" not in build(sandbox, cache).steps  # the outputs of the other checkout are good for this one
    assert sandbox.tree("build") == clean.tree("build")


def test_targets_of_others_keep_their_own_cache(sandbox: Sandbox, cache: Path) -> None:
    sandbox.edit(
        "SConstruct",
        "relu = ",
        'env.CacheDir("theirs")\nenv.Command("copied", "relu.cu", Copy("$TARGET", "$SOURCE"))\nrelu = ',
    )
    assert build(sandbox, cache).code == 0
    theirs = [path.read_bytes() for path in (sandbox.folder / "theirs").glob("??/*")]
    assert theirs == [RELU.encode()]
    assert len(files_of(cache, "ac")) == 4
    (sandbox.folder / "copied").unlink()
    assert "Retrieved `copied' from cache" in build(sandbox, cache).out


def test_the_folder_is_kept_within_its_size_and_keeps_what_was_used_last(sandbox: Sandbox, cache: Path) -> None:
    for limit in ("0.0f", "1.0f", "2.0f"):
        sandbox.write({"limit.cuh": LIMIT.replace("0.0f", limit)})
        assert build(sandbox, cache).code == 0
    whole = sum(path.stat().st_size for path in files_of(cache, "cas"))
    allowed = whole * 2 // 3
    sandbox.write({"limit.cuh": LIMIT.replace("0.0f", "3.0f")})
    assert build(sandbox, cache, f"cache_size={allowed}").code == 0
    assert 0 < sum(path.stat().st_size for path in files_of(cache, "cas")) <= allowed
    assert build(sandbox, cache, "-c").code == 0
    assert set(build(sandbox, cache).steps) <= {"bytecode"}  # which only the first build had used
    sandbox.write({"limit.cuh": LIMIT})
    assert "ltoir" in build(sandbox, cache).steps


def test_a_cache_that_cannot_be_written_costs_one_line(sandbox: Sandbox, cache: Path) -> None:
    cache.mkdir()
    (cache / "tilewright-1").write_text("in the way")
    run = build(sandbox, cache)
    assert sorted(run.steps) == sorted(STEPS)
    assert run.code == 0
    assert run.out.count(f"tilewright cache: cannot write to {cache}: ") == 1


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("cache=a,b", "SConstruct:4: error: `cache=a,b` names 2 folders and 0 addresses"),
        ("cache=ftp://x", "SConstruct:4: error: `ftp://x` is no address of a cache"),
        ("cache=relu.cu", "relu.cu` is a file, and the cache needs a folder"),
    ],
)
def test_a_wrong_setting_stops_the_build_cleanly(sandbox: Sandbox, setting: str, words: str) -> None:
    run = sandbox.scons(*BUILD, setting)
    assert run.code == 2
    assert words in run.err
    assert "Traceback" not in run.err


def test_a_server_fills_a_cold_checkout_and_is_written_only_when_told(sandbox: Sandbox, project: Project) -> None:
    with serving() as server:
        assert build(sandbox, server.url).code == 0
        assert server.contents == {}
        writing = project("writing")
        assert build(writing, server.url, "cache_write=1").code == 0
        assert sum("/ac/" in path for path in server.contents) == 4
        cold = project("cold")
        run = build(cold, server.url)
        assert (run.code, run.steps, retrieved(run)) == (0, [], 4)
        assert cold.tree("build") == sandbox.tree("build")
        for fault in ("html", "other", "half", "status"):
            server.fault = fault
            broken = project(fault)
            run = build(broken, server.url)
            assert run.code == 0
            assert run.out.count("; it is not used any more in this run\n") == 1
            assert broken.tree("build") == sandbox.tree("build")
