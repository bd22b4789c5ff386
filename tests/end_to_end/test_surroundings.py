"""Folders, locales, outputs and ways to start SCons that nobody thinks of: same bytes, no traceback."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from end_to_end.sandbox import LIMIT, RELU, SCONSTRUCT, Sandbox, finished, ten_libraries

FILES = {"SConstruct": SCONSTRUCT, "relu.cu": RELU, "limit.cuh": LIMIT}
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
LONG = "/".join(name * 30 for name in ("very", "long", "path", "deep", "down"))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The artifacts of an ordinary build."""
    ordinary = Sandbox(tmp_path_factory.mktemp("usual") / "project")
    ordinary.write(FILES)
    assert ordinary.scons("arch=sm_120").code == 0
    return ordinary.tree("build", "sm_120")


@pytest.mark.parametrize(
    ("folder", "environ", "check"),
    [
        ("a b 'c' \"d\" ünï$x;&(e)#%\\ 日本", {}, "✓ Tile library descriptions written"),
        ("plain", {**ASCII, "PYTHONOPTIMIZE": "2"}, "\\u2713 Tile library descriptions written"),
        ("ünï", {**ASCII, "PYTHONIOENCODING": ""}, "\\u2713 Tile library descriptions written"),
        (LONG, {"PYTHONOPTIMIZE": "1"}, "✓ Tile library descriptions written"),
    ],
    ids=["odd-name", "ascii-output-without-docstrings", "ascii-locale", "long-path-optimized"],
)
def test_the_bytes_do_not_depend_on_where_and_how(
    project: Callable[..., Sandbox], usual: dict[str, bytes], folder: str, environ: dict[str, str], check: str
) -> None:
    odd = project(folder, FILES)
    run = odd.scons("arch=sm_120", "print=1", **environ)
    assert run.code == 0, run
    assert run.err == ""
    assert check in run.out
    assert odd.tree("build", "sm_120") == usual
    assert odd.scons("arch=sm_120", **environ).up_to_date()
    build = odd.tilewright("build", "relu.cu", "--arch", "sm_120", "-o", "cli/relu.tilelib", "--print", **environ)
    assert build.code == 0, build
    assert check in build.out
    assert all(usual[name] == data for name, data in odd.tree("cli").items())
    odd.edit("limit.cuh", "0.0f", "1.0f")
    assert odd.scons("arch=sm_120", **environ).rebuilt("exports", "ltoir", "library")


def test_links_to_the_project_and_to_its_sources_are_followed(
    project: Callable[..., Sandbox], usual: dict[str, bytes], tmp_path: Path
) -> None:
    real = project("real", FILES)
    (tmp_path / "link").symlink_to(real.folder)
    linked = Sandbox(tmp_path / "link")
    assert linked.scons("arch=sm_120").code == 0
    assert linked.tree("build", "sm_120") == usual
    assert real.scons("arch=sm_120").up_to_date()
    build = real.tilewright("build", str(tmp_path / "link/relu.cu"), "--arch", "sm_120", "-o", "cli/relu.tilelib")
    assert build.code == 0
    assert all(usual[name] == data for name, data in real.tree("cli").items())
    farm = project("farm", {"SConstruct": SCONSTRUCT})
    for name in ("relu.cu", "limit.cuh"):
        (farm.folder / name).symlink_to(real.folder / name)
    assert farm.scons("arch=sm_120").code == 0
    assert farm.tree("build", "sm_120") == usual


READER_GONE = "import os; reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1)"
FULL = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
CLOSED = "import os; os.close(1)"


@pytest.mark.parametrize(
    ("output", "code"), [(READER_GONE, 1), (FULL, 1), (CLOSED, 0)], ids=["reader-gone", "full", "closed"]
)
def test_an_output_that_cannot_be_written_spoils_nothing(
    sandbox: Sandbox, usual: dict[str, bytes], output: str, code: int
) -> None:
    def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        start = f"{output}; os.execv({sys.executable!r}, {[sys.executable, '-m', module, *arguments]!r})"
        return subprocess.run(
            [sys.executable, "-c", start],
            cwd=sandbox.folder,
            env=sandbox.environ,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    build = run("tilewright", "build", "relu.cu", "--arch", "sm_120", "-o", "cli/relu.tilelib", "--print")
    assert build.returncode == code
    assert "Traceback" not in build.stderr
    assert "bug in tilewright" not in build.stderr
    assert all(usual[name] == data for name, data in sandbox.tree("cli").items())
    assert len(sandbox.tree("cli")) == 6
    if output != CLOSED:  # SCons itself needs something that it can write to
        scons = run("SCons", "arch=sm_120", "print=1")
        assert (scons.returncode, scons.stderr) == (0, "")
        assert sandbox.tree("build", "sm_120") == usual


def test_scons_may_be_started_from_elsewhere(project: Callable[..., Sandbox]) -> None:
    script = 'Import("env")\nDefault(env.TileLibrary("{}", "relu.cu"))\n'
    top = SCONSTRUCT.rpartition("relu = ")[0] + 'SConscript(["one/SConscript", "two/SConscript"], exports="env")\n'
    files = {"SConstruct": top}
    for name in ("one", "two"):
        files |= {f"{name}/SConscript": script.format(name), f"{name}/relu.cu": RELU, f"{name}/limit.cuh": LIMIT}
    outer = project("outer", {f"inner/{name}": text for name, text in files.items()})
    before = outer.listing()
    run = outer.scons("-C", "inner", "arch=sm_120")
    assert run.code == 0
    made = set(outer.listing()) - set(before)
    assert {name for name in made if name.endswith(".tilelib")} == {
        f"inner/build/sm_120/{name}/{name}.tilelib" for name in ("one", "two")
    }
    assert all(name.startswith("inner/build/") for name in made)
    built = outer.listing()
    assert outer.scons("-D", "arch=sm_120", at="inner/one").up_to_date()
    outer.edit("inner/one/relu.cu", "x :", "x + 1 :")
    outer.edit("inner/two/relu.cu", "x :", "x + 1 :")
    only_one = outer.scons("-U", "arch=sm_120", at="inner/one")
    assert only_one.rebuilt("exports", "ltoir", "library")
    assert only_one.steps.count("library") == 1, "-U builds the defaults of the script in this folder"
    assert outer.scons("-D", "arch=sm_120", at="inner/one/../two").steps.count("library") == 1
    wrong = outer.scons("-D", at="inner/one")
    assert wrong.code == 2
    assert "`arch` is missing" in wrong.errors[0]
    assert set(outer.listing()) == set(built)


class Conversation:
    """SCons in interactive mode, one command at a time."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "SCons", "--interactive", "-Q", "arch=sm_120"],
            cwd=sandbox.folder,
            env=sandbox.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self._alarm = threading.Timer(100, self.process.kill)
        self._alarm.start()
        self._until_prompt()

    def build(self) -> str:
        """What SCons says to `build`."""
        assert self.process.stdin
        self.process.stdin.write("build\n")
        self.process.stdin.flush()
        return self._until_prompt()

    def end(self) -> int:
        """Its exit status."""
        self.process.communicate("exit\n", timeout=60)
        self._alarm.cancel()
        return self.process.returncode

    def _until_prompt(self) -> str:
        assert self.process.stdout
        said = ""
        while not said.endswith("scons>>> "):
            letter = self.process.stdout.read(1)
            assert letter, said
            said += letter
        return said


def test_an_interactive_session_sees_every_edit(sandbox: Sandbox, usual: dict[str, bytes]) -> None:
    session = Conversation(sandbox)
    assert "Tile library written to build/sm_120/relu.tilelib" in session.build()
    assert sandbox.tree("build", "sm_120") == usual
    assert "is up to date" in session.build()
    sandbox.edit("relu.cu", "x : 0.0f", "x + 1.0f : 0.0f")
    body = session.build()
    assert "Compiling device code" in body
    assert "Writing Tile IR" not in body
    sandbox.edit("limit.cuh", "0.0f", "4.0f")
    assert "Compiling device code" in session.build()
    sandbox.edit("relu.cu", "tile_shape = 128", "tile_shape = 127")
    assert "[tile-shape-not-power-of-two]" in session.build()
    sandbox.write({"relu.cu": RELU, "limit.cuh": LIMIT})
    assert "Tile library written to" in session.build()
    assert sandbox.tree("build", "sm_120") == usual
    assert session.end() == 0
    assert sandbox.scons("arch=sm_120").up_to_date()


def test_a_cache_folder_of_the_user_gives_a_second_checkout_the_same_bytes(
    project: Callable[..., Sandbox], tmp_path: Path, usual: dict[str, bytes]
) -> None:
    cached = SCONSTRUCT.replace("env = ", f"CacheDir({str(tmp_path / 'cache')!r})\nenv = ")
    files = {**FILES, "SConstruct": cached}
    first, second = project("first", files), project("second/checkout", files)
    assert first.scons("arch=sm_120").rebuilt("exports", "ltoir", "bytecode", "library")
    assert first.tree("build", "sm_120") == usual
    hit = second.scons("arch=sm_120", "-j4")
    assert hit.rebuilt()
    assert hit.out.count("Retrieved `build/sm_120/relu.") == len(usual)
    assert second.tree("build", "sm_120") == usual
    assert second.scons("arch=sm_120").up_to_date()
    second.edit("limit.cuh", "0.0f", "1.0f")
    assert second.scons("arch=sm_120").rebuilt("exports", "ltoir", "library")
    second.write({"limit.cuh": LIMIT})
    assert second.scons("arch=sm_120").rebuilt(), "everything is in the cache"
    assert second.tree("build", "sm_120") == usual


def test_twenty_libraries_with_eight_jobs_print_whole_lines(project: Callable[..., Sandbox]) -> None:
    files = ten_libraries()
    for name, text in list(files.items()):
        if name != "SConstruct":
            files[f"more/{name}"] = text.replace("library", "other")
    files["SConstruct"] += (
        'for number in range(10):\n    SConscript(f"more/library{number}/SConscript", exports="env")\n'
    )
    twenty = project("twenty", files)
    run = twenty.scons("arch=sm_120", "-j8")
    assert run.code == 0
    assert {kind: run.steps.count(kind) for kind in set(run.steps)} == dict.fromkeys(
        ("exports", "ltoir", "bytecode", "library"), 20
    )
    known = (
        "scons: ",
        "tilewright: passed over ",
        "Reading tile exports of ",
        "Compiling device code of build/sm_120/",
        "Writing Tile IR of build/sm_120/",
        "✓ Tile library descriptions written: 1 export(s), Tile IR ",
        "Tile library written to build/sm_120/",
    )
    odd = [line for line in run.out.splitlines() if not line.startswith(known) and "tileiras --preview" not in line]
    assert odd == []
    assert len(run.out.splitlines()) == len({*run.out.splitlines()}) + 19, "only the summary line is the same for all"
    assert twenty.scons("arch=sm_120", "-j8").up_to_date()
    assert {name for name in twenty.tree() if "/.scons" in name} == set()


def test_four_runs_started_at_once_build_everything_once(project: Callable[..., Sandbox]) -> None:
    busy = project("busy", ten_libraries())
    started = [busy.start("arch=sm_120", "-j2") for _ in range(4)]
    runs = [finished(one) for one in started]
    assert [run.code for run in runs] == [0] * 4
    assert sum(run.steps.count("library") for run in runs) == 10
    assert busy.scons("arch=sm_120").up_to_date()
