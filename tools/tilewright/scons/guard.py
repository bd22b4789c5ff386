"""The stale-output guard: an output that is not what its build recorded is removed, so that SCons makes it again.

SCons compares sources with their recorded signatures, never an output with its own.  A run that was killed, or a hand
that edited, leaves outputs which would count as up to date once the sources look as they did before.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import re
import shutil
import time
from collections.abc import Iterable
from typing import Any

from SCons.Node.FS import Dir, File

from tilewright.scons.progress import say
from tilewright.scons.run_mode import only_looking

_STAGE = re.compile(r"\.tilewright-[0-9a-f]+\.stage|\..+\.launched")
STAGE_SECONDS = 60

WHOLE = "tilelib_whole"
"""The tag of an output that appears whole, together with the others of its step, and may be cached so."""

_absent: set[str] = set()


def keep_until_replaced(targets: Iterable[File]) -> None:
    """SCons deletes the outputs of a step before it; ours stay until the step has succeeded, as it swaps them whole."""
    for target in targets:
        target.set_precious()
        target.Tag(WHOLE, True)


def distrust(targets: Iterable[File]) -> None:
    """Removes each of `targets` that was recorded as made by a build and differs from the record.

    A file that only got another time stamp stays.  Nothing happens in runs that only look, or clean.
    """
    if only_looking():
        return
    for target in targets:
        _sweep(target.dir.get_abspath())
        record = _record(target.dir, target.name)
        path = target.get_abspath()
        if record is None or not os.path.lexists(path) or _matches(path, record):
            continue
        os.unlink(path)
        target.clear_memoized_values()
        say(f"Removed {target.get_internal_path()}: it is not what its build recorded, so it is made again")


def discard(folder: Dir, name: str) -> None:
    """Removes a file that an earlier build made and that this one does not make; one changed since then stays."""
    if only_looking():
        return
    path = os.path.join(folder.get_abspath(), name)
    if os.path.lexists(path):
        record = _record(folder, name)
        if record is not None and _matches(path, record):
            os.unlink(path)


@functools.cache
def _sweep(folder: str) -> None:
    """Removes what a killed run had staged there, once a folder; a stage in use is never this old.

    What a launched step makes lies in a folder; none is in use while scripts are read, as the tree is locked.
    """
    if not os.path.isdir(folder):
        _remove_again_if_empty(folder)
        return
    with os.scandir(folder) as entries:
        dead = [entry for entry in entries if _STAGE.fullmatch(entry.name)]
    for entry in dead:
        with contextlib.suppress(OSError):
            if time.time() - entry.stat().st_mtime > STAGE_SECONDS:
                remove = shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink
                remove(entry.path)


def _remove_again_if_empty(folder: str) -> None:
    """SCons makes the folders of a step's outputs before the step, and leaves them when it fails."""
    if not _absent:
        atexit.register(_remove_empty)
    while folder not in _absent and not os.path.isdir(folder):
        _absent.add(folder)
        folder = os.path.dirname(folder)


def _remove_empty() -> None:
    for folder in sorted(_absent, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


@functools.cache
def _records(folder: Dir) -> Any:
    """What SCons recorded of a folder. It opens its file relative to the working directory, which must be the top.

    While a script in a subfolder is read it is not: SCons would find no records, and keep that answer.
    """
    with contextlib.chdir(folder.fs.Top.get_abspath()):
        return folder.sconsign()


def _record(folder: Dir, name: str) -> Any:
    """Size, time and content signature of a file that a builder made, None for any other file."""
    try:
        entry = _records(folder).get_entry(name)
    except (KeyError, OSError):
        return None
    made = getattr(getattr(entry, "binfo", None), "bactsig", None)
    return entry.ninfo if made and hasattr(entry.ninfo, "csig") else None


def _matches(path: str, record: Any) -> bool:
    from SCons.Util import hash_file_signature

    if not os.path.isfile(path):
        return False
    status = os.stat(path)
    if status.st_size != record.size:
        return False
    return bool(status.st_mtime == record.timestamp or hash_file_signature(path) == record.csig)
