#!/usr/bin/env python3
"""Runs a command in an empty folder that holds what the command declares to read, and keeps what it declares to make.

For `launcher=`: a stand-in for what carries a step to another machine, on this one.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path


def main(command: list[str]) -> int:
    """The exit status of the command. What it made is copied back when it succeeded."""
    inputs, outputs = (os.environ[name].splitlines() for name in ("TILEWRIGHT_INPUTS", "TILEWRIGHT_OUTPUTS"))
    upwards = max(Path(name).parts.count("..") for name in (*inputs, *outputs))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, *["above"] * upwards, "project")
        folder.mkdir(parents=True)
        copy(inputs, Path.cwd(), folder)
        code = subprocess.run(command, cwd=folder).returncode
        if code == 0:
            copy(outputs, folder, Path.cwd())
    return code


def copy(names: Iterable[str], source: Path, target: Path) -> None:
    """Copies files by name from a folder to another."""
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, target / name)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
