"""Other toolkits than this environment's, for SCons and the command line alike.

A `sitecustomize.py` on PYTHONPATH narrows where the toolkit is looked for; everything after that is the real thing.
"""

from __future__ import annotations

import os
from pathlib import Path

from end_to_end.sandbox import TOOLS
from tilewright.toolchain.toolkit import Toolkit

NARROWED = """\
import functools
from pathlib import Path

from tilewright.toolchain import toolkit

toolkit.resolve = functools.partial(toolkit.resolve, {arguments})
"""


def without_any(folder: Path) -> dict[str, str]:
    """The environment variables of a machine without a toolkit."""
    return _narrowed(folder, "among=()")


def without_assembler(folder: Path, toolkit: Toolkit) -> dict[str, str]:
    """The environment variables of a machine whose only toolkit is the real one without `tileiras`."""
    root = folder / "cuda"
    (root / "bin").mkdir(parents=True)
    for entry in toolkit.root.iterdir():
        if entry.name != "bin":
            (root / entry.name).symlink_to(entry)
    for program in (toolkit.root / "bin").iterdir():
        if not program.name.startswith("tileir"):
            (root / "bin" / program.name).symlink_to(program)
    return _narrowed(folder, f"overrides={{'root': Path({str(root)!r})}}")


def _narrowed(folder: Path, arguments: str) -> dict[str, str]:
    site = folder / "site"
    site.mkdir(parents=True)
    (site / "sitecustomize.py").write_text(NARROWED.format(arguments=arguments), encoding="utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(site), str(TOOLS)])}
