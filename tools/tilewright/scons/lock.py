"""One SCons run at a time in a tree: two would write the same outputs and lose each other's signatures.

The lock is on the top folder itself, so no file is left behind and the system frees it when the process ends, however
that ends.  Where folders cannot be locked (Windows, some network file systems) a file beside the signatures is.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from tilewright.scons.progress import say

LOCK_FILE = ".sconsign.tilewright.lock"

_held: dict[str, Any] = {}


def hold(top: str) -> None:
    """Waits until no other run works in `top`, saying so once; the lock is held until this process ends."""
    if top in _held:
        return
    waiting = f"tilewright: another SCons run is working in {top}; waiting until it ends"
    _held[top] = _lock_folder(top, waiting) or _lock_file(os.path.join(top, LOCK_FILE), waiting)


def _lock_folder(top: str, waiting: str) -> int | None:
    """The open folder that carries the lock, None where folders cannot be locked."""
    try:
        import fcntl
    except ImportError:
        return None
    folder = os.open(top, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:
        os.close(folder)
        return None
    return folder


def _lock_file(path: str, waiting: str) -> Any:
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    with contextlib.suppress(Timeout):
        lock.acquire(timeout=0)
        return lock
    say(waiting)
    lock.acquire()
    return lock
