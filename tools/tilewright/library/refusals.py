"""What a file system refuses, in the words that every host uses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tilewright.problem import Problem


def refused(failure: OSError, *, doing: str = "", target: Path | None = None) -> Problem:
    """The problem that `failure` is; `target` is the file it is about, by default the one that the error names.

    `doing` is what failed, such as "cannot write", when the error alone does not tell.
    """
    named = Path(failure.filename) if isinstance(failure.filename, str) and failure.filename else None
    target = target or named
    subject = f"{doing} `{target}`: " if target else f"{doing}: " if doing else ""
    what, hint = _reason(failure, target)
    return Problem(what=(subject + what).strip(), hint=hint)


def is_special(target: Path) -> bool:
    """Whether something is there that is neither file nor folder: `-o /dev/null` must not replace the device.

    Nor `-o /dev/stdout` the link, whatever the output was led to.
    """
    if os.path.islink(target) and os.readlink(target).startswith("/proc/"):
        return True
    return os.path.exists(target) and not os.path.isfile(target) and not os.path.isdir(target)


def _reason(failure: OSError, target: Path | None) -> tuple[str, str]:
    parents = target.parents if target else ()
    in_the_way = next((each for each in parents if os.path.lexists(each) and not each.is_dir()), None)
    folder = f"`{target.parent}`" if target else "the folder"
    match failure.errno:
        case _ if in_the_way is not None:
            what = f"`{in_the_way}` is a file, and a folder is needed there"
            return what, f"move `{in_the_way}` away, or write to another folder"
        case errno.ENOTDIR | errno.EEXIST:
            return "a file stands where a folder is needed", "move the file away"
        case _ if target is not None and is_special(target):
            what = "it is a device, a pipe or a socket, which a rename would replace"
            return what, "write to a file in a folder of your own"
        case errno.EISDIR:
            return "a folder of that name is there", f"move the folder `{target}` away"
        case errno.ENOSPC | errno.EDQUOT:
            return "no space is left on the disk", f"free some space for {folder} and build again"
        case errno.EROFS:
            return f"{folder} is on a read-only file system", "write to another folder"
        case errno.EACCES | errno.EPERM:
            return "permission denied", f"make {folder} writable, or write to another folder"
        case _:
            return failure.strerror or str(failure), "choose another name or folder" if target else ""
