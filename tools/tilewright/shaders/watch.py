"""What a kernel file does with files while it runs: reads are noted, writes outside its own folder are refused.

It is no fence against ill will; it keeps honest files from leaving traces, and from depending on what no build sees.
"""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tilewright.problem import Place, Problem
from tilewright.shaders.imports import shown
from tilewright.shaders.installation import installed, is_installed, is_of_system

WRITING = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod")
"""Events whose first argument, or first two, are paths that change."""


class Watch:
    """Notes `read`, the files of the user that were opened, and `problems`, one a refused write."""

    def __init__(self, folders: tuple[Path, ...], root: Path, scratch: Path) -> None:
        self.folders = folders
        self.root = root
        self.scratch = scratch
        self.read: set[Path] = set()
        self.problems: list[Problem] = []
        self.is_on = False
        installed()  # before the search path changes
        sys.addaudithook(self._event)

    def owns(self, name: str) -> bool:
        """Whether a file is the user's: of the project, or elsewhere and neither installed nor of the system."""
        if not os.path.isabs(name) or is_installed(name) or Path(name).is_relative_to(self.scratch):
            return False
        return any(Path(name).is_relative_to(folder) for folder in self.folders) or not is_of_system(name)

    def place(self, frame: FrameType | None) -> Place | None:
        """The innermost line of the user's that is being executed."""
        while frame is not None:
            if self.owns(frame.f_code.co_filename):
                return Place(shown(Path(frame.f_code.co_filename), self.root), frame.f_lineno)
            frame = frame.f_back
        return None

    def _event(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_on or event.partition(".")[0] not in ("open", "os"):
            return
        if event == "open":
            name, mode, flags = arguments
            if not isinstance(name, (str, bytes, os.PathLike)):
                return
            path = os.path.abspath(os.fsdecode(name))
            if set(mode or "") & set("wax+") or (mode is None and (flags or 0) & WRITING):
                self._refuse(path, "writes")
            elif self.owns(path) and os.path.isfile(path):
                self.read.add(Path(path))
        elif event in CHANGES:
            for name in arguments[: 2 if event in ("os.rename", "os.link", "os.symlink") else 1]:
                if isinstance(name, (str, bytes, os.PathLike)):
                    self._refuse(os.path.abspath(os.fsdecode(name)), "changes")

    def _refuse(self, path: str, verb: str) -> None:
        real = os.path.realpath(path)
        if Path(real).is_relative_to(self.scratch) or real.startswith("/dev/"):
            return
        self.problems.append(
            Problem(
                f"the kernel file {verb} `{shown(Path(path), self.root)}`, and a capture leaves no files",
                self.place(sys._getframe(2)),
                hint="write it in a step of the build; files in the working folder are free, and go away",
                rule="capture-writes",
            )
        )
        raise PermissionError(errno.EACCES, "a kernel file writes no files", path)
