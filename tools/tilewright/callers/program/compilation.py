"""nvcc on a Tile C++ source with tile libraries: a host program, or the cubin of its kernels.

Spec: Calling it from Tile C++.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tilewright.callers.error import CallerError
from tilewright.callers.program.calls import Call, calls_in
from tilewright.callers.program.explanation import explain
from tilewright.callers.program.libraries import check_libraries, read_libraries, slashed, symbols
from tilewright.callers.program.machine_code import cubins_in, inspected
from tilewright.callers.program.staging import stable, staged
from tilewright.device.workers import Workers
from tilewright.library.archive import LibraryContents
from tilewright.library.process import run_to_end
from tilewright.library.sizes import carried_sizes, parametric_implementations
from tilewright.problem import Problem
from tilewright.toolchain.shadow import nvcc_of, tool_environment
from tilewright.toolchain.toolkit import Toolkit

TIME_LIMIT = 1800.0
_BARE = re.compile(r"failed to compile Tile IR program|'cuda_tile\.preview\$call' op|Unresolved extern function")
_WORD = re.compile(r"(?:\\[ #]|\S)+")


@dataclass(frozen=True, slots=True)
class Program:
    """What to compile. `cubin` stops at the kernels' cubin; `options` go to nvcc as they are."""

    source: Path
    libraries: tuple[Path, ...]
    arch: str
    cubin: bool = False
    include: tuple[Path, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """The file's bytes, warnings of ours, what nvcc printed, and the source with all headers that were read."""

    data: bytes
    warnings: tuple[Problem, ...]
    said: str
    read: tuple[Path, ...] = ()


def command_of(program: Program, toolkit: Toolkit, output: Path) -> list[str]:
    """The nvcc invocation, to print and to sign: it runs in the folder that relative paths are relative to."""
    libraries = [f"-Xtileiras=-l={slashed(library)}" for library in program.libraries]
    stage = ["--tilecubin"] if program.cubin else []
    return [
        *_front_end(program, str(nvcc_of(toolkit))),
        *libraries,
        *stage,
        "-o",
        str(output),
        str(program.source),
    ]


def program_identity(toolkit: Toolkit) -> str:
    """What the bytes of a program depend on besides its inputs and command: the tools by version, no path.

    A tool that is missing makes an identity too: compiling fails then, not asking for this. The host's C++ compiler,
    which nvcc takes from PATH, is not part of it.
    """
    names = ("nvcc", "assembler", "nvvm", "nvjitlink", "cccl", "runtime", "crt")
    return "; ".join(toolkit.identity(name) if toolkit.component(name) else f"no {name}" for name in names)


def compile_program(program: Program, toolkit: Toolkit, environ: Mapping[str, str] | None = None) -> Compiled:
    """Compile, link and look at the machine code.

    CallerError with every reason that can be found: what is wrong with the libraries before any tool runs; after a
    failed link, which of the program's calls do not fit them, with the tools' own text below.
    """
    problems = [] if program.source.is_file() else [Problem(f"the source `{program.source}` does not exist")]
    if problems:
        raise CallerError(problems)
    libraries = read_libraries(program.libraries)
    if problems := check_libraries(libraries, program.arch, toolkit):
        raise CallerError(problems)
    environment = tool_environment(toolkit, os.environ if environ is None else environ)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as name:
        folder = Path(name)
        output = folder / "program"
        shadowed = _private(program, folder)
        kept = folder / "kept"
        kept.mkdir()
        command = command_of(shadowed, toolkit, output)
        depfile = folder / "read.d"
        command += ["--keep", "--keep-dir", str(kept), "-MD", "-MF", str(depfile)]
        with _place(program, toolkit, environment) as place:
            done = _run(command, environment, place)
        said = _decoded(done.stdout)
        if done.returncode or not output.is_file():
            raise CallerError(
                _failure(shadowed, program, libraries, toolkit, environment, folder, done.returncode, said)
            )
        cubins = [output] if program.cubin else cubins_in(kept)
        warnings = inspected(_disassembled(cubins, toolkit, environment), symbols(libraries))
        return Compiled(output.read_bytes(), tuple(warnings), said, files_in(depfile.read_bytes()))


@contextmanager
def _place(program: Program, toolkit: Toolkit, environment: Mapping[str, str]) -> Iterator[Path | None]:
    """Where nvcc runs: a cubin holds no name of it, a host program is the same from every checkout if it can be."""
    words = command_of(program, toolkit, Path(program.source.stem))[1:]
    if program.cubin or not stable(words, environment):
        yield None
        return
    with staged(words, toolkit.cache) as folder:
        yield folder


def files_in(depfile: bytes) -> tuple[Path, ...]:
    """The prerequisites of the one rule in a depfile of a compiler, absolute; relative ones are of this folder."""
    rule = os.fsdecode(depfile).replace("\\\n", " ").partition(" : ")[2]
    words = _WORD.findall(rule)
    return tuple(Path(os.path.abspath(re.sub(r"\\([ #])", r"\1", word).replace("$$", "$"))) for word in words)


def _front_end(program: Program, nvcc: str) -> list[str]:
    preview = ["--enable-tile", "--tile-preview", "simt", "-std=c++20", f"-arch={program.arch}"]
    return [nvcc, *preview, *(f"-I{folder}" for folder in program.include), *program.options]


def _private(program: Program, folder: Path) -> Program:
    """The program with links in place of library paths that hold a comma, which nvcc takes for two options."""
    paths = []
    for number, library in enumerate(program.libraries):
        path = library
        if "," in str(library):
            path = folder / f"library{number}.tilelib"
            path.symlink_to(library.resolve())
        paths.append(path)
    return Program(program.source, tuple(paths), program.arch, program.cubin, program.include, program.options)


def _run(
    command: Sequence[str], environment: Mapping[str, str], place: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    try:
        return run_to_end(command, environment=environment, folder=place, limit=TIME_LIMIT)
    except OSError as failure:
        raise CallerError([Problem(f"`{command[0]}` did not start: {failure.strerror}")]) from failure
    except subprocess.TimeoutExpired as late:
        what = f"`{Path(command[0]).name}` gave no answer within {TIME_LIMIT:.0f} seconds"
        raise CallerError([Problem(what, detail=_decoded(late.stdout or b""))]) from late


def _failure(
    program: Program,
    asked: Program,
    libraries: Sequence[LibraryContents],
    toolkit: Toolkit,
    environment: Mapping[str, str],
    folder: Path,
    code: int,
    said: str,
) -> list[Problem]:
    text = "\n".join([f"$ {shlex.join(command_of(asked, toolkit, Path(asked.source.stem)))}", said or "(no output)"])
    reasons: list[Problem] = []
    if _BARE.search(said):
        calls = _calls(program, toolkit, environment, folder)
        reasons = explain(calls, libraries, program.arch, said, _sizes(libraries, toolkit))
    ending = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
    what = f"nvcc could not compile `{program.source}` ({ending})"
    if reasons:
        what = f"`{program.source}` does not link with its tile libraries ({ending}); what was found follows"
    return [Problem(what, detail=text), *reasons]


def _sizes(libraries: Sequence[LibraryContents], toolkit: Toolkit) -> dict[str, tuple[int, ...]]:
    """The sizes of every parametric implementation, by its symbol."""
    parametric = [library for library in libraries if parametric_implementations(library)]
    if not parametric:
        return {}
    with Workers(1) as workers:
        found = [carried_sizes(library, toolkit, workers).sizes for library in parametric]
    return {symbol: sizes for each in found for symbol, sizes in each.items()}


def _calls(program: Program, toolkit: Toolkit, environment: Mapping[str, str], folder: Path) -> tuple[Call, ...]:
    """What the program calls, from its bytecode; nothing when the toolkit cannot tell."""
    disassembler = toolkit.disassembler
    module = folder / "program.tilebc"
    front = _front_end(program, str(nvcc_of(toolkit)))
    made = _run([*front, "--tilebc", "-o", str(module), str(program.source)], environment)
    if disassembler is None or made.returncode or not module.is_file():
        return ()
    shown = _run([str(disassembler.path), "--preview=simt", str(module)], environment)
    return calls_in(_decoded(shown.stdout)) if shown.returncode == 0 else ()


def _disassembled(cubins: Sequence[Path], toolkit: Toolkit, environment: Mapping[str, str]) -> list[str]:
    """The machine code of each cubin; of none without nvdisasm."""
    tool = toolkit.nvdisasm
    if tool is None:
        return []
    shown = [_run([str(tool.path), "-c", str(cubin)], environment) for cubin in cubins]
    return [_decoded(one.stdout) for one in shown if one.returncode == 0]


def _decoded(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip("\n")
