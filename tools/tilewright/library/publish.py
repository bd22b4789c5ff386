"""Files appear whole and together: staged under a private name beside their targets, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from tilewright.library.errors import LibraryError
from tilewright.problem import Problem


def publish(contents: Mapping[Path, bytes]) -> None:
    """Write every file of `contents`, or none; missing folders are made.

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
            if _is_special(current):
                raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), str(current))
            _make_folders(current.parent, folders)
            stages[current] = current.with_name(f".tilewright-{secrets.token_hex(8)}.stage")
            with stages[current].open("xb") as stage:
                stage.write(data)
        for current, staged in stages.items():
            staged.replace(current)
            renamed.append(current)
    except BaseException as failure:
        _undo(files=[*stages.values(), *renamed], folders=folders)
        if isinstance(failure, OSError):
            raise LibraryError([_refusal(current, failure)]) from failure
        raise


def _is_special(target: Path) -> bool:
    """Whether something is there that is neither file nor folder: `-o /dev/null` must not replace the device.

    Nor `-o /dev/stdout` the link, whatever the output was led to.
    """
    if os.path.islink(target) and os.readlink(target).startswith("/proc/"):
        return True
    return os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target)


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


def _refusal(target: Path, failure: OSError) -> Problem:
    what = f"cannot write `{target}`: "
    in_the_way = next((each for each in target.parents if os.path.lexists(each) and not each.is_dir()), None)
    match failure.errno:
        case _ if in_the_way is not None:
            return Problem(
                what=what + f"`{in_the_way}` is a file, and a folder is needed there",
                hint=f"move `{in_the_way}` away, or write to another folder",
            )
        case _ if _is_special(target):
            return Problem(
                what=what + "it is a device, a pipe or a socket, which a rename would replace",
                hint="write to a file in a folder of your own",
            )
        case errno.EISDIR:
            return Problem(what=what + "a folder of that name is there", hint=f"move the folder `{target}` away")
        case errno.ENOSPC | errno.EDQUOT:
            return Problem(
                what=what + "no space is left on the disk",
                hint=f"free some space for `{target.parent}` and build again; no file there was changed",
            )
        case errno.EROFS:
            return Problem(
                what=what + f"`{target.parent}` is on a read-only file system", hint="write to another folder"
            )
        case errno.EACCES | errno.EPERM:
            return Problem(
                what=what + "permission denied", hint=f"make `{target.parent}` writable, or write to another folder"
            )
        case _:
            return Problem(what=what + (failure.strerror or str(failure)))
