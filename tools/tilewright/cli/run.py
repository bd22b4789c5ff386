"""`tilewright run`: one launch of a kernel in a cubin, or of a shader, on arrays from files or made on the spot."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.arguments import Option, UsageError, Verb
from tilewright.cli.files import read_file
from tilewright.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewright.callers.launch.arguments import Argument

VERB = Verb(
    "run",
    "Launches a kernel of a cubin, or a tile shader, then writes or compares what it left in its arrays. Needs a GPU.",
    "tilewright run --cubin k.cubin --kernel k --grid 8 --arg 'f32[1024]=ramp:-4:4' --arg x.npy,compare=y.npy",
    (
        Option("--cubin", "the file with the kernel; this and --kernel, or --shader, are required", "FILE"),
        Option("--kernel", "its name in the source, or the full name", "NAME"),
        Option("--shader", "the .json file of a tile shader, which has its grid and block", "FILE"),
        Option(
            "--arg",
            "an argument, in order: FILE.npy, TYPE[SHAPE]=ramp:A:B, =fill:V or =zeros, or a scalar TYPE=V; after an "
            "array ,write=FILE.npy saves it and ,compare=FILE.npy compares it, by bits or with ,rtol=R ,atol=A",
            "ARG",
            repeated=True,
        ),
        Option("--grid", "blocks in x, y and z, with commas between; default: 1", "X[,Y[,Z]]"),
        Option("--block", "threads a block; default: 1, which is right for tile kernels", "N"),
        Option("--name", "what the PASS and FAIL lines call it; default: the kernel's name", "NAME"),
    ),
)


def run(options: Namespace) -> int:
    """Launch; 1 when a comparison fails."""
    from tilewright.callers.launch.arguments import load_array, parse_argument

    _check_kind(options)
    arguments = [parse_argument(text) for text in options.arg]
    expected = {at: load_array(one.compare, one.text) for at, one in enumerate(arguments) if one.compare}
    values = [one.value for one in arguments]
    found = _launched_shader(options, values) if options.shader else _launched_cubin(options, values)
    _write(arguments, found)
    name = options.name or options.kernel or Path(options.shader).stem
    failed = 0
    for line, ok in _verdicts(name, arguments, found, expected):
        print(line)
        failed += not ok
    if not expected:
        print(f"DONE {name}: launched, nothing compared")
    return 1 if failed else 0


def _check_kind(options: Namespace) -> None:
    """A kernel of a cubin needs two options, a shader is complete."""
    if options.shader is not None:
        foreign = [name for name in ("cubin", "kernel", "grid", "block") if getattr(options, name) is not None]
        hint = "a shader knows its kernel, grid and block"
        problems = [Problem(f"--{name} is not for a shader", hint=hint) for name in foreign]
    else:
        missing = [name for name in ("cubin", "kernel") if getattr(options, name) is None]
        problems = [Problem(f"--{name} is required", hint=VERB.example) for name in missing]
    if problems:
        raise UsageError(problems)


def _launched_shader(options: Namespace, values: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    from tilewright.cli.shader_launch import launch_shader

    return launch_shader(Path(options.shader), values, verbose=options.verbose)


def _launched_cubin(options: Namespace, values: Sequence[NDArray[Any]]) -> Sequence[NDArray[Any]]:
    from tilewright.callers.launch.cubin import find_kernel, kernels_of
    from tilewright.callers.launch.device import launch, load_kernel, open_device

    x, y, z = (*_numbers(options.grid or "1", "--grid", 3), 1, 1)[:3]
    (block,) = _numbers(options.block or "1", "--block", 1)
    cubin = read_file(Path(options.cubin))
    find_kernel(options.kernel, kernels_of(cubin, options.cubin), options.cubin)
    with open_device() as device, load_kernel(device, cubin, options.kernel, options.cubin) as kernel:
        if options.verbose:
            print(f"note: {device.name} ({device.architecture}), kernel {kernel.name}", file=sys.stderr)
        return launch(device, kernel, values, (x, y, z), block=block)


def _write(arguments: Sequence[Argument], found: Sequence[NDArray[Any]]) -> None:
    import io

    import numpy as np

    from tilewright.library.publish import publish

    files: dict[Path, bytes] = {}
    for argument, value in zip(arguments, found, strict=True):
        if argument.write:
            buffer = io.BytesIO()
            np.save(buffer, value, allow_pickle=False)
            files[argument.write] = buffer.getvalue()
    publish(files)


def _verdicts(
    name: str, arguments: Sequence[Argument], found: Sequence[NDArray[Any]], expected: dict[int, NDArray[Any]]
) -> Iterator[tuple[str, bool]]:
    from tilewright.callers.launch.comparison import difference, largest_error

    for at, wanted in expected.items():
        argument = arguments[at]
        fault = difference(found[at], wanted, argument.rtol, argument.atol)
        if fault:
            yield f"FAIL {name}: argument {at}: {fault}", False
        elif argument.rtol or argument.atol:
            error = largest_error(found[at], wanted)
            yield f"PASS {name}: {wanted.size} elements of argument {at}, largest error {error:.3g}", True
        else:
            yield f"PASS {name}: {wanted.size} elements of argument {at}, equal in every bit", True


def _numbers(text: str, option: str, most: int) -> list[int]:
    parts = text.split(",")
    if len(parts) > most or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        what = f"{option} takes {'up to ' if most > 1 else ''}{most} positive number(s), not `{text}`"
        raise UsageError([Problem(what, hint=f"{option} {'8,4' if most > 1 else '1'}")])
    return [int(part) for part in parts]
