"""`tilewright compile`: the artifacts of a tile shader, for build systems other than SCons."""

from __future__ import annotations

import ast
import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.depfile import make_rule
from tilewright.problem import Problem

if TYPE_CHECKING:
    from tilewright.shaders.backends import Backend
    from tilewright.toolchain.toolkit import Toolkit

VERB = Verb(
    "compile",
    "Captures a kernel of a Python file and compiles it: TileIR text, and what each backend makes.",
    "tilewright compile softmax.py --arch sm_90 --set 'x=(256, 512)' --set 'y=(256, 512)'",
    (
        Option("--arch", "architectures to compile for, with commas between; required by `cuda`", "A[,B]"),
        Option("--backend", "a backend, cuda or metal; may be repeated; default: cuda", "NAME", repeated=True),
        Option("--name", "name of the shader; default: the file's name without suffix", "NAME"),
        Option("--kernel", "the kernel in the file, where its name is not the shader's and the file has several", "K"),
        Option(
            "--set",
            "a specialisation: the shape of a parameter, or an argument of the function that makes the kernel, as "
            "Python literal; repeat it for each",
            "NAME=VALUE",
            repeated=True,
        ),
        Option("--option", "an option of tile.compile, as Python literal: fast_math=True", "NAME=VALUE", repeated=True),
        Option(
            "--output",
            "folder: the text goes to tileir/ in it, the rest to <arch>/ or metal/; default: build",
            "DIR",
            short="-o",
        ),
        Option("--time-limit", "seconds that the file may run; default: 60", "SECONDS"),
        Option("--depfile", "write what was read as a Make rule, for Make and Ninja", "FILE"),
    ),
    file="FILE.py",
)


def run(options: Namespace) -> int:
    """Capture, compile with every backend for every architecture, then publish all files at once."""
    from tilewright.library.publish import publish
    from tilewright.shaders.backends import backends_named, check_options
    from tilewright.shaders.capture import capture
    from tilewright.shaders.imports import imported_files
    from tilewright.shaders.request import Spelling, make_request
    from tilewright.toolchain.toolkit import resolve

    file = Path(options.file)
    name = str(options.name or file.name.partition(".")[0])
    request = make_request(name, options.kernel or "", _literals(options.set, "--set", "x=(256,)"))
    rows = backends_named(options.backend or ["cuda"])
    chosen = check_options(_literals(options.option, "--option", "fast_math=True"))
    limit = _seconds(options.time_limit)
    toolkit = resolve(os.environ)
    jobs = [(row, arch) for row in rows for arch in _architectures(options, row, toolkit)]
    here, folder = Path.cwd(), Path(options.output or "build")
    root = here if Path(os.path.abspath(file)).is_relative_to(here) else Path(os.path.abspath(file)).parent
    spelling = Spelling("--kernel", "--time-limit SECONDS", "--set '{name}={value}'", " ", "{}")
    found = capture(file, request, root=root, time_limit=limit, spelling=spelling)
    if found.said:
        print(f"note: {file} printed:\n{found.said}", file=sys.stderr)
    contents = {folder / "tileir" / f"{name}.tileir": found.text.encode()}
    contents |= _compiled(jobs, found.text, name, chosen, folder, toolkit)
    if options.depfile:
        read = dict.fromkeys(
            [Path(os.path.abspath(file)), *imported_files(Path(os.path.abspath(file)), root), *found.read]
        )
        contents[Path(options.depfile)] = _rule(contents, read)
    publish(contents)
    if options.verbose:
        print(f"note: the toolkit is {toolkit.root} ({toolkit.origin})", file=sys.stderr)
    for note in toolkit.notes:
        print(f"note: {note}", file=sys.stderr)
    for row, arch in jobs:
        print(f"Tile shader {name} written to {folder / arch} ({row.name})")
    return 0


def _compiled(
    jobs: Sequence[tuple[Backend, str]],
    text: str,
    name: str,
    options: Mapping[str, Any],
    folder: Path,
    toolkit: Toolkit,
) -> dict[Path, bytes]:
    from tilewright.device.workers import Workers
    from tilewright.shaders.backends import options_for

    contents: dict[Path, bytes] = {}
    with Workers(1) as workers:
        for row, arch in jobs:
            compiler = str(toolkit.require(row.component).path) if row.component else ""
            own = options_for(options, row.name)
            made = workers.run(row.make, text, f"{name}.tileir", own, "" if row.folder else arch, compiler)
            contents |= {folder / arch / f"{name}{suffix}": made[suffix] for suffix in row.suffixes}
    return contents


def _architectures(options: Namespace, row: Backend, toolkit: Toolkit) -> tuple[str, ...]:
    """The folders that a backend writes to: one an architecture, or its own."""
    from tilewright.toolchain.architectures import parse_architectures
    from tilewright.toolchain.error import ToolchainError

    if row.folder:
        return (row.folder,)
    if options.arch is None:
        choices = ", ".join(toolkit.architectures()) or "none: no assembler and no NVRTC was found"
        raise UsageError([Problem(f"--arch is required by the backend `{row.name}`", hint=f"choices: {choices}")])
    try:
        return parse_architectures(options.arch, toolkit)
    except ToolchainError as error:
        raise UsageError(
            Problem(problem.what.replace("arch=", "--arch "), hint=problem.hint.replace("arch=", "--arch "))
            for problem in error.problems
        ) from error


def _literals(words: Iterable[str], option: str, example: str) -> dict[str, Any]:
    """The values of `--option name=value`, each a Python literal."""
    values: dict[str, Any] = {}
    problems = []
    for word in words:
        name, equals, text = word.partition("=")
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            hint = f"{option} '{example}'; text is quoted: {option} 'name=\"n\"'"
            problems.append(Problem(f"{option} {word}: the value is no Python literal", hint=hint))
            continue
        if not equals or not name.isidentifier() or name in values:
            why = "is given twice" if name in values else "has no name"
            problems.append(Problem(f"{option} {word}: it {why}", hint=f"{option} '{example}'"))
        values[name] = value
    if problems:
        raise UsageError(problems)
    return values


def _seconds(text: str | None) -> float:
    from tilewright.shaders.request import TIME_LIMIT

    try:
        seconds = TIME_LIMIT if text is None else float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise UsageError([Problem(f"--time-limit takes a number of seconds, not `{text}`", hint="--time-limit 60")])
    return seconds


def _rule(targets: Iterable[Path], read: Iterable[Path]) -> bytes:
    return os.fsencode(make_rule(map(str, targets), [os.path.relpath(path) for path in read]))
