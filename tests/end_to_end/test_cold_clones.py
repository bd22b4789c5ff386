"""A clone on a machine without working tools, beside a warm cache server: every kind of artifact, and nothing runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cache.servers import Server, serving
from end_to_end.every_artifact import BUNDLES, FILES
from end_to_end.sandbox import TOOLS, Run, Sandbox
from needed_tools import needs
from tilewright.toolchain.parts import PARTS
from tilewright.toolchain.toolkit import Toolkit

Project = Callable[..., Sandbox]

WANTED = ("arch=sm_120", "-Q", ".", "package", *(f"build/sm_120/{name}" for name in BUNDLES))

PROGRAMS = (
    *("rustc", "cargo", "cc", "c++", "gcc", "g++", "clang", "clang++", "ld", "ld.lld", "as", "ar", "llc", "opt"),
    *("llvm-link", "llvm-as", "sccache", "ccache"),
)
QUESTIONS = {"tileiras": ("--version", "--list-versions", "--help"), "rustc": ("-vV",)}
"""What a program may be asked about itself; the others their version alone."""

ANSWERING = """\
#!/bin/sh
answer="{answers}/$1"
if [ $# -eq 1 ] && [ -f "$answer" ]; then exec cat "$answer"; fi
echo "{name} $*" >> {log}
exit 9
"""
LISTENING = """\
import functools, os, sys
from pathlib import Path

LOG = {log!r}
TOOLS = os.path.realpath({tools!r})


def note(event, arguments):
    if event == "subprocess.Popen":
        words = [os.fsdecode(word) for word in arguments[1]]
    elif event in ("os.posix_spawn", "os.exec", "os.system", "os.spawn"):
        words = [event, str(arguments[:2])]
    elif event == "ctypes.dlopen" and arguments[0] and os.path.realpath(str(arguments[0])).startswith(TOOLS):
        words = [event, str(arguments[0])]
    else:
        return
    if len(words) != 2 or words[1] not in {questions!r}.get(os.path.basename(words[0]), ("--version",)):
        with open(LOG, "a") as log:
            log.write(repr(words) + "\\n")


if "-c" in sys.orig_argv:
    with open(LOG, "a") as log:
        log.write("another Python: " + repr(sys.orig_argv) + "\\n")
sys.addaudithook(note)

from tilewright.toolchain import toolkit

toolkit.resolve = functools.partial(toolkit.resolve, overrides={{"root": Path({root!r})}})
"""


class DeadMachine:
    """A machine on which every tool says what it is, and does nothing else; `launches` are all attempts."""

    def __init__(self, folder: Path, toolkit: Toolkit) -> None:
        self.log = folder / "launches"
        self.root = folder / "cuda"
        (folder / "path").mkdir(parents=True)
        for program in PROGRAMS:
            if found := shutil.which(program) or shutil.which(program, path=str(Path.home() / ".cargo/bin")):
                self._replace(Path(found), folder / "path" / program)
        for program in ("sh", "cat"):
            (folder / "path" / program).symlink_to(str(shutil.which(program)))
        self._copy(toolkit)
        site = folder / "site"
        site.mkdir()
        listening = LISTENING.format(log=str(self.log), tools=str(folder), questions=QUESTIONS, root=str(self.root))
        (site / "sitecustomize.py").write_text(listening)
        self.environ = {
            "PATH": str(folder / "path"),
            "PYTHONPATH": os.pathsep.join([str(site), str(TOOLS)]),
            "TILEWRIGHT_CACHE": str(folder / "memory"),
            "CC": "",
            "CXX": "",
        }

    def launches(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def _replace(self, tool: Path, at: Path) -> None:
        """A script that answers what the tool answers."""
        answers = at.parent / f"answers of {at.name}"
        answers.mkdir(parents=True)
        for question in QUESTIONS.get(at.name, ("--version",)):
            done = subprocess.run([tool, question], capture_output=True, text=True, check=False)
            if done.returncode == 0:
                (answers / question).write_text(done.stdout + done.stderr)
        at.write_text(ANSWERING.format(answers=answers, name=at.name, log=self.log))
        at.chmod(0o755)

    def _copy(self, toolkit: Toolkit) -> None:
        """The toolkit with its headers, its versions and the names of its libraries, which hold nothing."""
        (self.root / "bin").mkdir(parents=True)
        (self.root / "include").symlink_to(toolkit.root / "include")
        for tool in (toolkit.root / "bin").iterdir():
            if tool.is_file() and os.access(tool, os.X_OK):
                self._replace(tool, self.root / "bin" / tool.name)
        for library in (*(toolkit.root / "lib").iterdir(), *(toolkit.root / "nvvm").rglob("*")):
            if library.is_file():
                place = self.root / library.relative_to(toolkit.root)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text("no library\n")
        versions = {}
        for part in PARTS:
            if component := toolkit.component(part.name):
                versions[part.key] = {"version": component.version}
        (self.root / "version.json").write_text(json.dumps(versions))


@pytest.fixture
def machine(tmp_path: Path, toolkit: Toolkit) -> DeadMachine:
    return DeadMachine(tmp_path / "machine", toolkit)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as started:
        yield started


def modes(one: Sandbox) -> dict[str, int]:
    return {
        str(path.relative_to(one.folder)): path.stat().st_mode & 0o777
        for path in one.folder.rglob("*")
        if path.is_file()
    }


@needs("g++")
@needs("rustc")
def test_a_cold_clone_beside_a_warm_server_runs_nothing(project: Project, machine: DeadMachine, server: Server) -> None:
    def build(one: Sandbox, *more: str, **environ: str) -> Run:
        return one.scons(*WANTED, f"cache={server.url}", *more, **environ)

    first = project("first", FILES)
    filled = build(first, "cache_write=1", "-j2")
    assert filled.code == 0, filled
    made = {
        "exports",
        "ltoir",
        "bytecode",
        "library",
        "bindings",
        "program",
        "verification",
        "link",
        "capture",
        "shader",
    }
    assert made <= set(filled.steps)

    cold = project("another/place", FILES)
    run = build(cold, "-j2", **machine.environ)
    assert machine.launches() == []
    assert (run.code, run.steps) == (0, []), run
    assert " 0 misses" in run.out
    assert cold.tree("build") == first.tree("build")
    assert cold.read("linked.ptx") == first.read("linked.ptx")
    for name, mode in modes(first).items():
        assert name.startswith(".") or modes(cold)[name] == mode, name
    assert os.access(cold.folder / "build/sm_120/caller", os.X_OK)
    assert build(cold, **machine.environ).up_to_date()

    verified = cold.scons("arch=sm_120", "verify-emulate")
    assert (verified.code, verified.steps) == (0, []), verified
    assert verified.out.count("SUCCESS: 1/1 tile exports verified") == 2

    server.contents.clear()
    broken = build(project("empty", FILES), "-k", **machine.environ)
    assert broken.code == 2, "the tools of that machine work"
    assert any(shlex.split(line)[0] for line in machine.launches())
