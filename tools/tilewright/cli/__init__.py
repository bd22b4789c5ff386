"""The `tilewright` command: each verb is a thin wiring of the rooms, imported only when it is asked for.

Exit codes: 0 done, 1 any error, 2 a tile library that was skipped, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from tilewright.problem import Problem, ProblemError, render

VERBS = {
    "build": "build a tile library from a source file",
    "doctor": "show the toolkit that would be used, and what is wrong with it",
    "inspect": "show what a .tilelib file holds",
    "dump": "show a .tilebc file as readable Tile IR",
    "verify": "run a library's exports through the native ABI and compare every element",
    "probe": "hold LTOIR of any compiler against a description",
    "bindings": "write what callers of a library include or import",
    "package": "pack libraries into archives and wheels that other builds install",
    "verify-package": "check a package of tile libraries: paths, digests, and whether its contents load",
    "cache": "look into a cache folder, check it, or make it smaller",
    "compile": "compile a tile kernel of a Python file",
    "run": "launch a kernel of a cubin or a tile shader on arrays, and compare what it writes",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; errors are printed on stderr, each once."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _print_anything(sys.stdout, sys.stderr)
    try:
        code = _dispatch(arguments)
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except ProblemError as error:
        print(render(error.problems), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as refusal:
        if "--verbose" in arguments:
            traceback.print_exc()
        _drop_output()
        subject = f"`{refusal.filename}`" if refusal.filename else "the output"
        print(render([Problem(what=f"cannot use {subject}: {refusal.strerror or refusal}")]), file=sys.stderr)
        return 1
    except Exception as bug:
        if "--verbose" in arguments:
            traceback.print_exc()
        what = f"bug in tilewright: {type(bug).__name__}: {bug}"
        hint = "report it with the output of the same command and --verbose"
        print(render([Problem(what=what, hint=hint)]), file=sys.stderr)
        return 1
    return code


def _drop_output() -> None:
    """Leads standard output to nowhere when it cannot be written: the flush at exit would fail again."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    from tilewright.cli.arguments import UsageError, nearest, parse

    if not arguments:
        raise UsageError([Problem(what="no command given", hint=f"one of {', '.join(VERBS)}; see tilewright --help")])
    first, *rest = arguments
    if first in ("-h", "--help"):
        print(_overview())
        return 0
    if first == "--version":
        from tilewright import __version__

        print(f"tilewright {__version__}")
        return 0
    if first not in VERBS:
        kind = "option" if first.startswith("-") else "command"
        hint = nearest(first, [*VERBS, "--help", "--version"]) or f"one of {', '.join(VERBS)}; see tilewright --help"
        raise UsageError([Problem(what=f"unknown {kind} `{first}`", hint=hint)])
    verb = import_module(f"tilewright.cli.{first.replace('-', '_')}")
    options = parse(verb.VERB, rest)
    return 0 if options is None else int(verb.run(options))


def _overview() -> str:
    rows = [f"  {name:<14} {sentence}" for name, sentence in VERBS.items()]
    return "\n".join(
        [
            "usage: tilewright COMMAND ...",
            "",
            "Builds tile libraries: SIMT device functions that a tile kernel can call and inline; and tile shaders.",
            "",
            *rows,
            "",
            "  --help     show this text; `tilewright COMMAND --help` shows a command's options",
            "  --version  show the version",
        ]
    )


def _print_anything(*streams: object) -> None:
    """A character that the terminal's encoding lacks is shown escaped instead of failing the command."""
    for stream in streams:
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
