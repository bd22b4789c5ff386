"""Asking a tool about itself, with a memory: a tool that did not change is not started a second time.

An answer is the text that a tool printed.  It is kept in the user's cache folder, one file an answer, and holds as
long as the tool's real path, size and times (and those of the files that a wrapper script names) stay the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.problem import Problem
from tilewright.toolchain.error import ToolchainError

if TYPE_CHECKING:
    import subprocess

FORMAT = 1
SECONDS_TO_ANSWER = 15.0
LONGEST_ANSWER = 1 << 20
LONGEST_SCRIPT = 1 << 16
_ABSOLUTE_PATH = re.compile(rb"/[^\s\"'`;|&<>(){}$*?:]+")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The user's cache folder: `TILEWRIGHT_CACHE`, else `XDG_CACHE_HOME` or `~/.cache`; it need not exist.

    Without a home folder it is a folder of this user below the temporary folder.
    """
    if chosen := environ.get("TILEWRIGHT_CACHE"):
        return Path(os.path.abspath(chosen))
    base = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "tilewright")
    home = environ.get("HOME", "")
    return Path(home, ".cache", "tilewright") if os.path.isabs(home) else private_temporary_folder()


def private_temporary_folder() -> Path:
    """Where a cache goes when there is no home folder, or none that can be written to."""
    import tempfile

    return Path(tempfile.gettempdir(), f"tilewright-{os.getuid()}")


def script_text(file: Path) -> bytes:
    """The text of a script (`#!`), empty for any other file."""
    try:
        with open(file, "rb") as stream:
            return b"#!" + stream.read(LONGEST_SCRIPT) if stream.read(2) == b"#!" else b""
    except OSError:
        return b""


def programs_named_by(script: bytes) -> tuple[Path, ...]:
    """The programs whose absolute paths a script mentions, in order, its interpreter left out."""
    body = script.partition(b"\n")[2]
    named = (Path(os.fsdecode(match)) for match in _ABSOLUTE_PATH.findall(body))
    return tuple(dict.fromkeys(path for path in named if path.is_file() and os.access(path, os.X_OK)))


def stamp(tool: Path) -> list[str]:
    """What must stay the same for an answer to hold; raises OSError for a file that is not there."""
    real = Path(os.path.realpath(tool))
    facts: list[str] = []
    for file in (real, *programs_named_by(script_text(real))):
        info = file.stat()
        facts.append(f"{file} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns}")
    return facts


def remembered(tool: Path, question: str, cache: Path, find_out: Callable[[], str]) -> str:
    """The answer to `question` about `tool`, from the cache if it still holds, else from `find_out()`.

    A cache that cannot be read or written only costs time.  What `find_out` raises is not remembered.
    """
    try:
        facts = stamp(tool)
    except OSError as error:
        hint = "name a program that is there and that you may read"
        raise ToolchainError([Problem(f"cannot read {tool}: {error.strerror}", hint=hint)]) from error
    name = hashlib.sha256(
        "\0".join((os.path.realpath(tool), tool.name, question)).encode("utf-8", "surrogateescape")
    ).hexdigest()
    file = cache / "answers" / f"{name[:32]}.json"
    head = {"format": FORMAT, "question": question, "stamp": facts}
    try:
        with open(file, "rb") as stream:
            ours = os.fstat(stream.fileno()).st_uid in (os.getuid(), 0)
            record = json.load(stream)
        if ours and {key: record[key] for key in head} == head and isinstance(record["answer"], str):
            return str(record["answer"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    answer = find_out()
    with contextlib.suppress(OSError, ValueError):
        _write_whole(file, json.dumps({**head, "answer": answer}).encode())
    return answer


def _write_whole(file: Path, data: bytes) -> None:
    import tempfile

    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def ask(tool: Path, option: str, cache: Path, environ: Mapping[str, str]) -> str:
    """What `tool option` prints (standard output and error together), remembered.

    Raises ToolchainError when it cannot be started, fails, dies, hangs or never stops printing.
    """
    return remembered(tool, option, cache, lambda: run([str(tool), option], environ))


def run(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """What a short command prints. Raises ToolchainError as `ask` does; its children die with it."""
    import signal
    import subprocess

    shown = " ".join(command[:2])
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**environ, "LC_ALL": "C"},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        hint = f"install it again, or make it a program: chmod +x {shlex.quote(command[0])}"
        raise ToolchainError([Problem(f"`{shown}` cannot be started: {reason}", hint=hint)]) from error
    try:
        printed, fault = _listen(process)
    finally:
        if process.returncode is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout:
            process.stdout.close()
    text = printed.decode("utf-8", "replace")
    if fault:
        hint = f"run it by hand to see why, or install it again: {shlex.join(command[:2])}"
        raise ToolchainError([Problem(f"`{shown}` {fault}", detail=excerpt(text), hint=hint)])
    return text


def _listen(process: subprocess.Popen[bytes]) -> tuple[bytes, str]:
    """What a process prints until it ends, and what was wrong with it (empty: nothing)."""
    import selectors
    import subprocess
    import time

    pipe = process.stdout
    if pipe is None:
        return b"", ""
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    late = f"gives no answer within {SECONDS_TO_ANSWER:g} seconds"
    printed = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return printed, late
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            printed += chunk
            if len(printed) > LONGEST_ANSWER:
                return printed, "does not stop printing"
    try:
        code = process.wait(max(0.1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return printed, late
    if code < 0:
        return printed, f"was ended by signal {-code}"
    return printed, f"failed with exit code {code}" if code else ""


def excerpt(text: str) -> str:
    """The beginning of what a tool printed, short enough for a message."""
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [line[:200] for line in lines[:8]]
    return "\n".join([*shown, *(["..."] if len(lines) > 8 else [])])
