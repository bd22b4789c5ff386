"""Runs one of the toolkit's programs in a private folder and keeps everything it printed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tilewright.library.errors import LibraryError
from tilewright.problem import Problem

TIME_LIMIT = 600.0  # seconds; packing takes a fraction of one


@contextmanager
def private_folder(contents: Mapping[str, bytes]) -> Iterator[Path]:
    """A temporary folder holding `contents`, removed at the end; LibraryError when it cannot be filled."""
    try:
        scratch = tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True)
    except OSError as failure:
        raise _no_scratch(tempfile.gettempdir(), failure) from failure
    with scratch as name:
        folder = Path(name)
        try:
            for file, data in contents.items():
                (folder / file).write_bytes(data)
        except OSError as failure:
            raise _no_scratch(name, failure) from failure
        yield folder


def run_to_end(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, limit: float = TIME_LIMIT
) -> subprocess.CompletedProcess[bytes]:
    """Run `command` in a session of its own, both its streams as one `stdout`, for at most `limit` seconds.

    A time-out or an interrupt kills it with all its children.  Raises OSError when it does not start, TimeoutExpired
    with what it printed.
    """
    with subprocess.Popen(
        list(command),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except BaseException:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output)


def run_tool(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], fault: str, identity: str
) -> None:
    """Run `command` in `folder`; anything but exit code 0 is a LibraryError saying `fault`.

    Its detail holds the command, `identity` (the program's version and origin) and both streams in full.
    """
    try:
        done = run_to_end(command, folder=folder, environment=environment, limit=TIME_LIMIT)
    except OSError as failure:
        raise _failed(command, identity, f"{fault}: it did not start ({failure.strerror})", b"") from failure
    except subprocess.TimeoutExpired as late:
        reason = f"{fault}: no answer within {TIME_LIMIT:.0f} seconds"
        raise _failed(command, identity, reason, late.stdout or b"") from late
    if done.returncode:
        raise _failed(command, identity, f"{fault} ({_ending(done.returncode)})", done.stdout)


def _ending(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _failed(command: Sequence[str], identity: str, what: str, output: bytes) -> LibraryError:
    text = output.decode("utf-8", "replace").strip("\n")
    detail = "\n".join(["$ " + shlex.join(command), identity, *([text] if text else ["(no output)"])])
    return LibraryError([Problem(what=what, detail=detail)])


def _no_scratch(folder: str, failure: OSError) -> LibraryError:
    return LibraryError(
        [
            Problem(
                what=f"cannot write the temporary folder `{folder}`: {failure.strerror}",
                hint="free some space there, or set TMPDIR to a folder with space",
            )
        ]
    )
