"""The command of a launched step: `python -P -m tilewright.scons.launched KIND --source=... --target=... ...`.

It runs in a folder that stands for the top one and holds the inputs of the step, and finds the tools of its machine.
Exit status 0 with the outputs below `--into`; 1 with the errors on standard error, between two lines that mark them.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tilewright.problem import Problem, ProblemError
from tilewright.scons.errors import BuildScriptError
from tilewright.scons.launch import BEGIN, END
from tilewright.scons.progress import say
from tilewright.scons.signatures import IDENTITIES
from tilewright.scons.step import KINDS, Step, Surroundings, function_of

if TYPE_CHECKING:
    from tilewright.toolchain.toolkit import Toolkit


def main(arguments: Sequence[str]) -> int:
    """Carries one step out; returns the exit status."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    step, into = _parsed(arguments)
    try:
        _carry_out(step, into)
    except ProblemError as error:
        return _failed(str(error))
    except OSError as failure:
        from tilewright.library.refusals import refused

        return _failed(str(refused(failure)))
    except KeyboardInterrupt:
        return 130
    return 0


def _parsed(arguments: Sequence[str]) -> tuple[Step, Path]:
    parser = argparse.ArgumentParser(prog="tilewright.scons.launched", allow_abbrev=False)
    parser.add_argument("kind", choices=KINDS)
    for name in ("--source", "--needed", "--target"):
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--into", type=Path, required=True)
    for name in ("--options", "--tools"):
        parser.add_argument(name, type=json.loads, default={})
    given = parser.parse_args(arguments)
    sources, targets, needed = map(tuple, (given.source, given.target, given.needed))
    return Step(given.kind, sources, targets, needed, given.options, given.tools), given.into


def _carry_out(step: Step, into: Path) -> None:
    from tilewright.device.workers import Workers
    from tilewright.library.publish import publish
    from tilewright.toolchain.toolkit import resolve

    find_toolkit = functools.cache(lambda: resolve(os.environ))
    with Workers(1) as workers:
        here = Surroundings(Path.cwd(), find_toolkit, lambda: workers)
        _refuse_other_tools(step, find_toolkit())
        made = function_of(step.kind)(step, here)
    names = [PurePosixPath(name).name for name in step.targets]
    publish({into / name: data for name, data in zip(names, made.contents, strict=True)})
    if made.said:
        say(made.said)


def _refuse_other_tools(step: Step, toolkit: Toolkit) -> None:
    """What the build signed must be what the step is made with, wherever it is."""
    for name, signed in step.tools.items():
        if (here := IDENTITIES[name](toolkit)) != signed:
            what = f"the tools where the launcher runs `{step.targets[0]}` are not those of the build"
            detail = f"of the build: {signed}\nof the launched step: {here}"
            raise BuildScriptError([Problem(what, detail=detail, hint="install the same versions on both sides")])


def _failed(text: str) -> int:
    sys.stderr.write(f"{BEGIN}\n{text}\n{END}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
