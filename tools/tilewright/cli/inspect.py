"""`tilewright inspect`: what a `.tilelib` holds."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.cli.arguments import Option, Verb
from tilewright.cli.files import read_file
from tilewright.problem import render

if TYPE_CHECKING:
    from tilewright.library.archive import LibraryContents
    from tilewright.library.sizes import Carried

VERB = Verb(
    "inspect",
    "Shows what a tile library holds: declarations, implementations, and the kind of its code.",
    "tilewright inspect build/sm_120/relu/relu.tilelib --json",
    (Option("--json", "print the same as JSON"),),
    file="FILE.tilelib",
)


def run(options: Namespace) -> int:
    """Print the contents; 1 when interface and implementations do not fit each other."""
    from tilewright.library.archive import read_library
    from tilewright.library.inspection import inspection_json, inspection_text

    contents = read_library(read_file(Path(options.file)), options.file)
    carried = _carried(contents)
    print(inspection_json(contents, carried) if options.json else inspection_text(contents, carried), end="")
    if problems := contents.mismatches():
        print(render(problems), file=sys.stderr)
        return 1
    return 0


def _carried(contents: LibraryContents) -> Carried:
    """The sizes in the library; no tool is looked for when no call supplies one."""
    from tilewright.library.sizes import Carried, carried_sizes, parametric_implementations

    if not parametric_implementations(contents):
        return Carried({})
    from tilewright.device.workers import Workers
    from tilewright.toolchain.toolkit import resolve

    with Workers(1) as workers:
        return carried_sizes(contents, resolve(os.environ), workers)
