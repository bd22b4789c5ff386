"""`tilewright doctor`: the toolkit that would be used, and what is wrong with it."""

from __future__ import annotations

import os
from argparse import Namespace

from tilewright.cli.arguments import Option, Verb

VERB = Verb(
    "doctor",
    "Shows each part of the CUDA toolkit that would be used, its version and how it was found, and what is wrong.",
    "tilewright doctor --json",
    (Option("--json", "print the report as JSON"),),
)


def run(options: Namespace) -> int:
    """Print the report; 1 when it names a problem."""
    from tilewright.toolchain.doctor import report
    from tilewright.toolchain.toolkit import resolve

    found = report(resolve(os.environ))
    print(found.json() if options.json else found.text(), end="")
    return 1 if found.problems else 0
