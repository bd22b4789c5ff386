"""A program of the toolkit that does not end, or is interrupted, takes its children with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tilewright.library import process
from tilewright.library.errors import LibraryError
from tilewright.library.process import run_to_end, run_tool

PARENT = "sleep 60 & echo $! > child.part; mv child.part child; echo begun; wait"


def child_of(folder: Path) -> Path:
    """The file of /proc that is there as long as the child is."""
    deadline = time.monotonic() + 10
    while not (folder / "child").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return Path("/proc", (folder / "child").read_text().strip(), "stat")


def dies(child: Path) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if child.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_time_out_kills_the_children_and_keeps_what_was_printed(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired) as caught:
        run_to_end(["sh", "-c", PARENT], environment=os.environ, folder=tmp_path, limit=0.5)
    assert caught.value.stdout == b"begun\n"
    assert dies(child_of(tmp_path))


def test_a_time_out_of_a_tool_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TIME_LIMIT", 1.0)
    command = ["sh", "-c", PARENT]
    with pytest.raises(LibraryError) as caught:
        run_tool(command, folder=tmp_path, environment=os.environ, fault="tool cannot", identity="tool 1")
    assert str(caught.value) == (
        f"error: tool cannot: no answer within 1 seconds\n    $ sh -c '{PARENT}'\n    tool 1\n    begun"
    )
    assert dies(child_of(tmp_path))


def test_an_interrupt_kills_the_children(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tilewright.library.process import run_to_end\n"
        "run_to_end(['sh', '-c', sys.argv[1]], environment=os.environ, folder=Path(sys.argv[2]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", code, PARENT, tmp_path]
    ours = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    child = child_of(tmp_path)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(10) != 0
    assert dies(child)


def test_both_streams_and_the_exit_code_are_given(tmp_path: Path) -> None:
    done = run_to_end(["sh", "-c", "pwd; echo err >&2; exit 3"], environment=os.environ, folder=tmp_path)
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\nerr\n".encode())
