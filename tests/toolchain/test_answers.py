"""The memory of what tools said: used while it holds, never in the way."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tilewright.toolchain import answers
from tilewright.toolchain.answers import ask, cache_folder
from tilewright.toolchain.error import ToolchainError
from tilewright.toolchain.roots import candidates, in_root
from tilewright.toolchain.toolkit import resolve
from toolchain.conftest import MakeRoot, script, tool_script


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    return script(tmp_path / "bin/tool", tool_script("1.2.3"))


def calls(tool: Path) -> int:
    return (tool.parent.parent / "asked").read_text().count("\n")


def test_a_warm_cache_starts_no_program(
    environ: Mapping[str, str], make_root: MakeRoot, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_root("cuda", assembler="13.5", nvcc="13.5.20", nvrtc="13.5.20")
    cold = resolve(environ, among=[in_root(root, "CUDA_HOME")])
    assert (root / "asked").read_text().split("\n")[:-1] == [
        "tileiras --version", "tileiras --list-versions", "tileiras --help", "nvcc --version",
    ]  # fmt: skip

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert resolve(environ, among=[in_root(root, "CUDA_HOME")]) == cold


def test_a_warm_resolution_of_the_real_wheels_takes_milliseconds(environ: Mapping[str, str]) -> None:
    roots = candidates(environ, standard=())
    resolve(environ, among=roots)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        resolve(environ, among=candidates(environ, standard=()))
        times.append(time.perf_counter() - start)
    assert min(times) < 0.02


def test_a_changed_tool_is_asked_again(tool: Path, tmp_path: Path) -> None:
    assert "1.2.3" in ask(tool, "--version", tmp_path / "cache", os.environ)
    assert "1.2.3" in ask(tool, "--version", tmp_path / "cache", os.environ)
    assert calls(tool) == 1
    before = tool.stat()
    script(tool, tool_script("1.2.4"))
    os.utime(tool, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "1.2.4" in ask(tool, "--version", tmp_path / "cache", os.environ)


def test_a_changed_program_behind_a_wrapper_is_noticed(tool: Path, tmp_path: Path) -> None:
    wrapper = script(tmp_path / "wrapper", f'exec "{tool}" "$@"')
    assert "1.2.3" in ask(wrapper, "--version", tmp_path / "cache", os.environ)
    script(tool, tool_script("1.2.40"))
    assert "1.2.40" in ask(wrapper, "--version", tmp_path / "cache", os.environ)


def test_two_names_of_one_program_are_two_tools(tool: Path, tmp_path: Path) -> None:
    script(tool, 'echo "${0##*/}"')
    (tmp_path / "bin/other").symlink_to(tool)
    said = [ask(tmp_path / "bin" / name, "--version", tmp_path / "cache", os.environ) for name in ("tool", "other")]
    assert said == ["tool\n", "other\n"]


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[]", b"null", b'{"format": 1}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_cache_is_repaired(rubbish: bytes, tool: Path, tmp_path: Path) -> None:
    ask(tool, "--version", tmp_path / "cache", os.environ)
    (file,) = (tmp_path / "cache/answers").iterdir()
    whole = file.read_bytes()
    file.write_bytes(rubbish)
    assert "1.2.3" in ask(tool, "--version", tmp_path / "cache", os.environ)
    assert calls(tool) == 2
    assert file.read_bytes() == whole
    assert len(list(file.parent.iterdir())) == 1


@pytest.mark.parametrize("cache", ["/proc/nothing", "/dev/null/cache"])
def test_a_cache_that_cannot_be_written_costs_only_time(cache: str, tool: Path) -> None:
    assert "1.2.3" in ask(tool, "--version", Path(cache), os.environ)
    assert "1.2.3" in ask(tool, "--version", Path(cache), os.environ)
    assert calls(tool) == 2


def test_a_failure_is_not_remembered(tool: Path, tmp_path: Path) -> None:
    script(tool, 'if [ -e "${0%/*}/well" ]; then echo 7.7; else echo ill >&2; exit 4; fi')
    with pytest.raises(ToolchainError) as caught:
        ask(tool, "--version", tmp_path / "cache", os.environ)
    assert str(caught.value) == (
        f"error: `{tool} --version` failed with exit code 4\n    ill\n"
        f"  hint: run it by hand to see why, or install it again: {tool} --version"
    )
    (tool.parent / "well").touch()
    assert ask(tool, "--version", tmp_path / "cache", os.environ) == "7.7\n"


def test_a_hung_tool_dies_with_its_children(tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SECONDS_TO_ANSWER", 0.5)
    script(tool, 'sleep 60 & echo $! > "${0%/*}/child"; wait')
    with pytest.raises(ToolchainError, match=r"gives no answer within 0\.5 seconds"):
        ask(tool, "--version", tmp_path / "cache", os.environ)
    child = Path("/proc", (tool.parent / "child").read_text().strip(), "stat")
    deadline = time.monotonic() + 5
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_cannot_be_started_is_an_error(tool: Path, tmp_path: Path) -> None:
    tool.chmod(0o644)
    with pytest.raises(ToolchainError, match=r"cannot be started: Permission denied\n  hint: .*chmod"):
        ask(tool, "--version", tmp_path / "cache", os.environ)
    with pytest.raises(ToolchainError, match=r"cannot read .*gone: No such file or directory\n  hint: name a program"):
        ask(tmp_path / "gone", "--version", tmp_path / "cache", os.environ)


def test_the_cache_folder_follows_the_environment() -> None:
    home = {"HOME": "/home/me"}
    assert cache_folder(home) == Path("/home/me/.cache/tilewright")
    assert cache_folder({**home, "XDG_CACHE_HOME": "/var/me"}) == Path("/var/me/tilewright")
    assert cache_folder({**home, "XDG_CACHE_HOME": "relative"}) == Path("/home/me/.cache/tilewright")
    assert cache_folder({**home, "TILEWRIGHT_CACHE": "/fast"}) == Path("/fast")
    assert cache_folder({}).name == f"tilewright-{os.getuid()}"
