"""`tilewright bindings`: declarations and wrappers of a library for the tile languages."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from tilewright.cli.arguments import Option, UsageError, Verb, nearest
from tilewright.problem import Problem

VERB = Verb(
    "bindings",
    "Writes what callers of a library include or import: Tile C++, cuTile Python, cuTile Rust.",
    "tilewright bindings build/sm_120/relu/relu.tileexports.json -o include",
    (
        Option("--output", "folder for the files; default: the folder of the description", "DIR", short="-o"),
        Option(
            "--language",
            "only this one: tile-cpp, cutile-python or cutile-rust; may be repeated",
            "LANGUAGE",
            repeated=True,
        ),
    ),
    file="FILE.tileexports.json",
)


def run(options: Namespace) -> int:
    """Write the files and say for each how far its language was proved."""
    from tilewright.callers.bindings.every_language import BINDINGS, LANGUAGES, bindings_of
    from tilewright.exports.description import read_description
    from tilewright.library.publish import publish

    unknown = [language for language in options.language if language not in LANGUAGES]
    if unknown:
        hint = f"one of {', '.join(LANGUAGES)}"
        raise UsageError(
            Problem(f"no bindings are written for `{language}`", hint=nearest(language, LANGUAGES) or hint)
            for language in unknown
        )
    description = Path(options.file)
    exports = read_description(description)
    files = bindings_of(exports, options.language or LANGUAGES)
    folder = Path(options.output) if options.output is not None else description.parent
    publish({folder / name: content for name, content in files.items()})
    for binding in BINDINGS:
        if (name := f"{exports.library}{binding.suffix}") in files:
            print(f"{binding.title} bindings written to {folder / name} ({binding.proof})")
    return 0
