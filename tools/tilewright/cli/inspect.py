"""`tilewright inspect`: what a `.tilelib` holds."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, Verb
from tilewright.cli.files import read_file
from tilewright.problem import render

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
    print(inspection_json(contents) if options.json else inspection_text(contents), end="")
    if problems := contents.mismatches():
        print(render(problems), file=sys.stderr)
        return 1
    return 0
