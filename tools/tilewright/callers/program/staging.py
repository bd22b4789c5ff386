"""A folder of one name for every checkout, in which nvcc runs: it writes the name of its folder into host programs."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tilewright.toolchain.host_compiler import FLAG_VARIABLES

_UPWARDS = re.compile(r"\.\.(?=/|$|[\s,:])", re.MULTILINE)
_DEBUG = re.compile(
    r"(?:^|[\s,=])(?:-g[0-3]?|-ggdb\d?|-G|--debug|--device-debug|-lineinfo|--generate-line-info)(?=$|[\s,])"
)


def stable(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether a program of these words of nvcc can be made in another folder than the project's own.

    Not with `..` in a path, which leads elsewhere there, nor with debug information, which is to name the sources.
    """
    text = "\n".join([*words, *(environ.get(name, "") for name in FLAG_VARIABLES)])
    return not _UPWARDS.search(text) and not _DEBUG.search(text)


@contextmanager
def staged(words: Sequence[str], cache: Path) -> Iterator[Path]:
    """A folder below `cache` with links to all that the current folder has, removed afterwards.

    Its name follows from `words` alone; one process at a time has it. OSError where `cache` cannot be written.
    """
    from filelock import FileLock

    digest = hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    home = cache / "programs"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / digest
    with FileLock(home / f"{digest[:2]}.lock"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            with os.scandir() as entries:
                for entry in entries:
                    (folder / entry.name).symlink_to(Path.cwd() / entry.name)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
