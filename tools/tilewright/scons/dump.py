"""`print=1`: the readable form of the descriptions, shown when the build is over. Spec: Reading the dump.

Showing is no step of the build, so it is in no signature and works when everything is up to date as well.
"""

from __future__ import annotations

import atexit
from pathlib import Path

import SCons.Node
from SCons.Node.FS import File

from tilewright.scons.progress import say
from tilewright.scons.run_mode import only_looking

_wanted: list[File] = []


def show_after_build(text: File) -> None:
    """Prints the file when SCons ends, if this run made it or found it up to date; equal texts are shown once."""
    if only_looking():
        return
    if not _wanted:
        atexit.register(_show)
    _wanted.append(text)


def _show() -> None:
    good = (SCons.Node.up_to_date, SCons.Node.executed)
    paths = [Path(node.get_abspath()) for node in _wanted if node.get_state() in good]
    texts = dict.fromkeys(path.read_text(encoding="utf-8") for path in paths if path.is_file())
    if texts:
        say("\n".join(text.rstrip("\n") for text in texts))
