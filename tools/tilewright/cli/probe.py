"""`tilewright probe`: LTOIR of any compiler held against a description, as far as a linker can see into it."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.files import read_file
from tilewright.problem import Problem

VERB = Verb(
    "probe",
    "Checks LTOIR of any compiler against a description, by a link that shows each function's parameters,\n"
    "and says what such a link cannot show.",
    "tilewright probe relu.ltoir --exports relu.tileexports.json",
    (
        Option("--exports", "the description; required", "FILE"),
        Option("--arch", "link for this architecture; default: the one the LTOIR was made for", "ARCH"),
        Option("--json", "print the report as JSON"),
    ),
    file="LIB.ltoir",
)


def run(options: Namespace) -> int:
    """Print the report; 1 when it names a problem."""
    from tilewright.callers.foreign import probe_library
    from tilewright.device.workers import Workers
    from tilewright.exports.description import read_description
    from tilewright.toolchain.architectures import normalize
    from tilewright.toolchain.toolkit import resolve

    if options.exports is None:
        raise UsageError([Problem("`tilewright probe` needs a description: --exports FILE", hint=VERB.example)])
    ltoir = read_file(Path(options.file))
    exports = read_description(Path(options.exports))
    arch = normalize(options.arch) if options.arch else ""
    with Workers(1) as workers:
        report = probe_library(
            ltoir, exports, name=options.file, toolkit=resolve(os.environ), workers=workers, arch=arch
        )
    print(report.json() if options.json else report.text(), end="")
    return 1 if report.problems else 0
