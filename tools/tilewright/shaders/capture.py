"""Runs a kernel file in a process of its own and takes the TileIR of one kernel from it.

The process starts in an empty folder that is removed afterwards, sees only `ENVIRONMENT`, imports the DSL and nothing
of the build, and is killed at the time limit.  What it prints is kept; what it would write elsewhere is refused.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.shaders.errors import KernelFileError
from tilewright.shaders.imports import search_path, shown
from tilewright.shaders.request import IN_SCRIPT, TIME_LIMIT, Request, Spelling

TOOLS = Path(__file__).resolve().parents[2]
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
PATIENCE = 5.0
"""Seconds after the time limit that a process has to say where it was."""
SHOWN = 4000
"""Characters of what a kernel file printed that are kept."""

_START = """import sys
sys.path.insert(0, sys.argv[1])
import tilewright
sys.path.append(sys.path.pop(0))
from tilewright.shaders.worker import main
main(sys.argv[2])"""
"""This package and no other release that is installed, whose folder hides no module of the standard library."""
_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in ')


@dataclass(frozen=True, slots=True)
class Captured:
    """`text`: the contents of the `.tileir`. `read`: other files of the user, in any folder. `said`: the output."""

    text: str
    read: tuple[Path, ...]
    said: str


def capture(
    file: Path, request: Request, *, root: Path, time_limit: float = TIME_LIMIT, spelling: Spelling = IN_SCRIPT
) -> Captured:
    """The kernel that is asked for; KernelFileError for whatever is wrong with the file.

    `root` is the top folder of the project: names in messages are relative to it, and their hints keep to `spelling`.
    """
    file, root = Path(os.path.abspath(file)), Path(os.path.abspath(root))
    with tempfile.TemporaryDirectory(prefix="tilewright-capture-") as scratch:
        folder = Path(os.path.realpath(scratch))
        order = {
            "file": str(file),
            "root": str(root),
            "path": [str(each) for each in search_path(file, root)],
            "request": request.to_json(),
            "spelling": asdict(spelling),
            "time_limit": time_limit,
        }
        (folder / "order.json").write_text(json.dumps(order), encoding="utf-8")
        code = _run(folder, time_limit)
        said = _text(folder / "said.txt").strip()[:SHOWN]
        try:
            reply = json.loads((folder / "reply.json").read_bytes())
        except (OSError, ValueError):
            limit = (time_limit, spelling.time_limit)
            raise KernelFileError([_no_reply(file, root, folder, code, limit, said)]) from None
    if reply["problems"]:
        raise KernelFileError(_problem(each, said) for each in reply["problems"])
    return Captured(reply["text"], tuple(map(Path, reply["read"])), said)


def _run(folder: Path, time_limit: float) -> int | None:
    """The exit status; None when the process had to be killed. It also ends when this process does: a pipe closes."""
    reading, writing = os.pipe()
    environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    environment |= {"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "TMPDIR": str(folder / "work")}
    (folder / "work").mkdir()
    with (folder / "said.txt").open("wb") as said:
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-c", _START, str(TOOLS), str(reading)],
                cwd=folder / "work",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                pass_fds=(reading,),
                start_new_session=True,
            )
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        try:
            return process.wait(time_limit + PATIENCE)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(writing)


def _no_reply(file: Path, root: Path, folder: Path, code: int | None, limit: tuple[float, str], said: str) -> Problem:
    """`limit`: the seconds that it had, and how a user gives it more."""
    name = shown(file, root)
    stuck = _text(folder / "stuck.txt")
    if stuck or code is None:
        places = (Place(shown(Path(found["file"]), root), int(found["line"])) for found in _FRAME.finditer(stuck))
        where = next((place for place in places if not place.file.startswith(("/", "<"))), Place(name))
        what = f"the kernel file ran longer than {limit[0]:g} s and was stopped"
        hint = f"a kernel file builds kernels and returns; a longer one: {limit[1]}"
        return Problem(what, where, hint, rule="capture-time-limit", detail=said)
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
    return Problem(f"the process of the kernel file {how}", Place(name), rule="capture-ended", detail=said)


def _problem(record: dict[str, Any], said: str) -> Problem:
    where = Place(record["file"], int(record["line"]), int(record["column"])) if record["file"] else None
    detail = "\n".join(filter(None, (record["detail"], said and f"it printed:\n{said}")))
    return Problem(record["what"], where, record["hint"], record["rule"], detail)


def _text(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return opened.read(1 << 20)
    except OSError:
        return ""
