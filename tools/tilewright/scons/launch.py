"""`launcher=`: a step as a command of its own, behind a prefix that may run it elsewhere.

The command is run in the top folder.  The launcher learns from TILEWRIGHT_INPUTS and TILEWRIGHT_OUTPUTS which files the
command may read and must make, one a line, relative to that folder; RECC_* say the same to recc.  Outputs are made in a
folder of the step's own, so that what is there afterwards is what this run made, and published when all are there.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from SCons.Errors import BuildError
from SCons.Node.FS import File

from tilewright.problem import Problem
from tilewright.scons.errors import BuildScriptError
from tilewright.scons.progress import say
from tilewright.scons.step import Made, Step

ENTRY = "tilewright.scons.launched"
INPUTS, OUTPUTS = "TILEWRIGHT_INPUTS", "TILEWRIGHT_OUTPUTS"
FOLDER = ".launched"
"""What the name of a folder for the outputs of one launched step ends in."""

BEGIN, END = "tilewright: the step failed:", "tilewright: end of the errors"
"""Lines around the errors of a launched step, to tell them from what a launcher says."""

PACKAGES = Path(__file__).parents[2]


def check(launcher: str, top: Path) -> None:
    """BuildScriptError unless the first word of a launcher is a program; one with a slash is relative to the top."""
    program = shlex.split(launcher)[0]
    path = os.path.join(top, program) if os.sep in program else program
    if shutil.which(path) is None:
        if os.sep in program and os.path.isfile(path):
            what = f"`launcher={launcher}` cannot be run: `{program}` is not executable"
            raise BuildScriptError.of(what, f"chmod +x {shlex.quote(program)}")
        what = f"`launcher={launcher}` cannot be run: there is no program `{program}`"
        raise BuildScriptError.of(what, "name one on PATH, or by its path from the folder of the SConstruct: ./run.sh")


def command_of(launcher: str, step: Step) -> list[str]:
    """The words of a launched step."""
    words = [*shlex.split(launcher), sys.executable, "-P", "-m", ENTRY, step.kind]
    words += [f"--source={name}" for name in step.sources]
    words += [f"--needed={name}" for name in step.inputs if name not in step.sources]
    words += [f"--target={name}" for name in step.targets]
    return [*words, f"--into={_folder(step)}", f"--options={_json(step.options)}", f"--tools={_json(step.tools)}"]


def _json(values: Mapping[str, object]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def _folder(step: Step) -> str:
    first = PurePosixPath(step.targets[0])
    return str(first.with_name(f".{first.name}{FOLDER}"))


def outputs_of(step: Step) -> tuple[str, ...]:
    """Where a launched step makes its targets, in their order."""
    return tuple(f"{_folder(step)}/{PurePosixPath(name).name}" for name in step.targets)


def through(launcher: str, step: Step, target: File, top: Path) -> Made:
    """Has the launcher carry the step out. BuildError with the step's own errors when it found some.

    BuildScriptError with the command and all that it printed when the launcher failed, or left an output out.
    """
    _refuse_line_breaks(step)
    outputs = [top / name for name in outputs_of(step)]
    folder = top / _folder(step)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        command = command_of(launcher, step)
        done = _run(command, top, _environment(step))
        missing = [name for name, path in zip(step.targets, outputs, strict=True) if not path.is_file()]
        streams = [_told_apart(text) for text in (done.stdout, done.stderr)]
        said = "\n".join(filter(None, (told.strip("\n") for _, told in streams)))
        if done.returncode == 0 and not missing:
            return Made(tuple(path.read_bytes() for path in outputs), said)
        if errors := "\n".join(filter(None, (errors for errors, _ in streams))):
            if said:
                say(said)
            raise BuildError(node=target, errstr=errors)
        raise BuildScriptError([_failure(step, done, missing)])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_line_breaks(step: Step) -> None:
    for name in (*step.inputs, *step.targets):
        if "\n" in name:
            raise BuildScriptError.of(f"{name!r} cannot be told to a launcher: its name holds a line break")


def _environment(step: Step) -> dict[str, str]:
    """That of SCons; the package is found wherever the command is run, as a path of Python that is relative is not."""
    inputs, outputs = step.inputs, outputs_of(step)
    python_path = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH", ""))))
    recc = {
        "RECC_DEPS_OVERRIDE": ",".join(inputs),
        "RECC_OUTPUT_FILES_OVERRIDE": ",".join(outputs),
        "RECC_FORCE_REMOTE": "1",
    }
    lists = {INPUTS: "\n".join(inputs), OUTPUTS: "\n".join(outputs)}
    return {**os.environ, **recc, **lists, "PYTHONPATH": python_path}


def _run(command: list[str], top: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            cwd=top,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
        )
    except OSError as failure:
        problem = Problem(f"the launcher `{command[0]}` did not start: {failure.strerror}")
        raise BuildScriptError([problem]) from failure


def _told_apart(printed: str) -> tuple[str, str]:
    """The errors of the step, and everything else; a launcher may lead both streams into one."""
    before, begin, rest = printed.partition(f"{BEGIN}\n")
    errors, end, after = rest.partition(f"{END}\n")
    return (errors.rstrip("\n"), before + after) if begin and end else ("", printed)


def _failure(step: Step, done: subprocess.CompletedProcess[str], missing: list[str]) -> Problem:
    listing = ", ".join(f"`{name}`" for name in missing or step.targets)
    if done.returncode == 0:
        what = f"the launcher `{done.args[0]}` reported success and did not make {listing}"
    else:
        what = f"the launcher `{done.args[0]}` failed ({_ending(done.returncode)}): {listing} is not made"
    streams = (("standard output", done.stdout), ("standard error", done.stderr))
    parts = [f"{name}:\n{text.strip(chr(10))}" if text.strip() else f"{name}: (nothing)" for name, text in streams]
    return Problem(what, detail="\n".join(["$ " + shlex.join(done.args), *parts]))


def _ending(code: int) -> str:
    if code > 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
