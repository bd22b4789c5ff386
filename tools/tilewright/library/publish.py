"""Files appear whole and together: staged under a private name beside their targets, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tilewright.library.errors import LibraryError
from tilewright.library.refusals import is_special, refused


def publish(contents: Mapping[Path, bytes], executable: Collection[Path] = ()) -> None:
    """Write every file of `contents`, or none; missing folders are made. Who may read the `executable` may run them.

    Nothing is renamed before everything is staged, so a full disk or an interrupt leaves the old files, no stage and
    no new folder.  Should a rename itself fail, the targets already renamed are removed: a missing file is built
    again, a mixture of old and new looks finished.  Raises LibraryError for what the file system refuses.
    """
    stages: dict[Path, Path] = {}
    renamed: list[Path] = []
    folders: list[Path] = []
    current = Path()
    try:
        for current, data in contents.items():
            if current.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(current))
            if is_special(current):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(current))
            _make_folders(current.parent, folders)
            stages[current] = current.with_name(f".tilewright-{secrets.token_hex(8)}.stage")
            with stages[current].open("xb") as stage:
                stage.write(data)
            if current in executable:
                mode = stages[current].stat().st_mode
                stages[current].chmod(mode | (mode & 0o444) >> 2)
        for current, staged in stages.items():
            staged.replace(current)
            renamed.append(current)
    except BaseException as failure:
        _undo(files=[*stages.values(), *renamed], folders=folders)
        if isinstance(failure, OSError):
            raise LibraryError([refused(failure, doing="cannot write", target=current)]) from failure
        raise


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        if folder == folder.parent:
            break
        folder = folder.parent
    for new in reversed(missing):
        try:
            new.mkdir()
        except FileExistsError:
            if not new.is_dir():  # another build may have made the folder meanwhile
                raise
        else:
            made.append(new)


def _undo(files: Iterable[Path], folders: list[Path]) -> None:
    for file in files:
        with suppress(OSError):
            file.unlink()
    for folder in reversed(folders):
        with suppress(OSError):
            folder.rmdir()
