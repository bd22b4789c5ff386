"""Apple's offline compiler: the commands for a source, running them, and why they cannot run. Only macOS has it."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.lowering.errors import LoweringError
from tilewright.lowering.metal.artifact import SAFE_MATH, MetalArtifact
from tilewright.lowering.metal.device import METAL4_OS, MSL3_OS
from tilewright.problem import Problem

XCRUN = ("xcrun", "-sdk", "macosx")
SYSTEM = "Darwin"
"""What `platform.system()` gives where the compiler exists."""

LANGUAGES = {"3.0": MSL3_OS, "3.1": 14, "3.2": 15, "4.0": METAL4_OS}
"""The versions of MSL that a source written by hand may have, each with the oldest macOS that takes it."""

Run = Callable[[Sequence[str]], tuple[int, str, str]]
"""Runs a command: its exit status, and what it printed on standard output and standard error."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """How one source has to be compiled; `entry` is the kernel of a source that a lowering wrote, else ""."""

    language: str
    required_os: int
    math_flags: tuple[str, ...]
    debug: bool = False
    entry: str = ""


@dataclass(frozen=True, slots=True)
class MetalTools:
    """The compiler's first line of `--version` and the version of the SDK, or why there is none (`missing`)."""

    compiler: str = ""
    sdk: str = ""
    missing: str = ""


NO_TOOLS = MetalTools()


def compilation_of(artifact: MetalArtifact) -> Compilation:
    """That of an artifact."""
    return Compilation(
        artifact.language, artifact.required_os, artifact.math_flags, debug=artifact.debug, entry=artifact.entry
    )


def described(data: bytes) -> Compilation | None:
    """That of the JSON beside an artifact; None for a file that describes no MSL."""
    try:
        record = json.loads(data)
        if record["format"] != "metal":
            return None
        return Compilation(
            language=str(record["language"]),
            required_os=int(record["required_os"]),
            math_flags=tuple(map(str, record["math_flags"])),
            debug=record["debug"] is True,
            entry=str(record["entry"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def by_hand(language: str) -> Compilation:
    """That of a source without a description: safe math; LoweringError for a version that is not in `LANGUAGES`."""
    if language not in LANGUAGES:
        what = f"there is no MSL {language} here"
        raise LoweringError([Problem(what, hint=f"language= is one of {', '.join(LANGUAGES)}", rule="msl-version")])
    return Compilation(language, LANGUAGES[language], SAFE_MATH)


def planned_language(options: Mapping[str, Any]) -> str:
    """The version of the MSL that a compilation with these options writes: matrix products by MPP need 4.0."""
    return "4.0" if options.get("metal_mpp") else "3.0"


def air_command(how: Compilation, source: str, air: Path, folders: Sequence[Path] = ()) -> list[str]:
    """`.metal` to `.air`: language version, deployment target and math flags; always explicit, since the compiler's
    default is fast math. Headers are found in `folders`."""
    language = f"-std=metal{how.language}"
    system = f"-mmacosx-version-min={how.required_os}.0"
    debug = ["-gline-tables-only", "-frecord-sources"] if how.debug else []
    include = [word for folder in folders for word in ("-I", str(folder))]
    return [*XCRUN, "metal", language, system, "-O2", *how.math_flags, *debug, *include, "-c", source, "-o", str(air)]


def library_command(airs: Sequence[str], library: Path) -> list[str]:
    """`.air` files to one `.metallib`."""
    return [*XCRUN, "metallib", *airs, "-o", str(library)]


def find_tools(system: str, run: Run | None = None) -> MetalTools:
    """What compiles MSL on this machine; `system` is what `platform.system()` gives. Only macOS is asked anything."""
    execute = run or executed
    if system != SYSTEM:
        return MetalTools(missing="the Metal compiler exists only on macOS; the MSL is written")
    status, _, said = execute([*XCRUN, "--find", "metal"])
    if status:
        return MetalTools(missing=f"Command Line Tools only; install Xcode, then run xcode-select{_quoted(said)}")
    status, version, said = execute([*XCRUN, "metal", "--version"])
    if status or not version.strip():
        hint = "run xcodebuild -downloadComponent MetalToolchain"
        return MetalTools(missing=f"the Metal compiler is a stub; {hint}{_quoted(said)}")
    status, sdk, _ = execute([*XCRUN, "--show-sdk-version"])
    return MetalTools(compiler=version.strip().splitlines()[0], sdk="" if status else sdk.strip())


def skip_reason(tools: MetalTools, name: str, required_os: int) -> str:
    """Why the library `name`, whose language needs the SDK of `required_os`, cannot be made here; "" when it can.

    A skip is not a pass: it goes into the build's output, and is an error where the library is required.
    """
    if tools.missing:
        return tools.missing
    major = tools.sdk.partition(".")[0]
    if not major.isdigit() or int(major) < required_os:
        return f"`{name}` needs the macOS {required_os} SDK, this is {tools.sdk or 'none'}"
    return ""


def made_by(command: Callable[[Path], Sequence[str]], name: str, folder: Path) -> tuple[bytes, str]:
    """The file that a command writes to the path it is given, and what it printed. It runs in `folder`.

    The path is in a folder of its own, which goes away. LoweringError with the whole output when the command fails.
    """
    private = Path(tempfile.mkdtemp(prefix="tilewright-metal-"))
    try:
        made = private / name
        words = list(command(made))
        tool = " ".join((words[0], words[len(XCRUN)]))
        status, out, err = executed(words, folder)
        said = (out + err).strip("\n")
        if status:
            raise LoweringError([Problem(f"`{tool}` failed with status {status}", detail=said)])
        if not made.is_file():
            raise LoweringError([Problem(f"`{tool}` ended well and wrote no `{name}`", detail=said)])
        return made.read_bytes(), said
    finally:
        shutil.rmtree(private, ignore_errors=True)


def library_record(
    name: str,
    sources: Mapping[str, tuple[bytes, Compilation]],
    *,
    library: bytes | None = None,
    tools: MetalTools = NO_TOOLS,
    reason: str = "",
) -> bytes:
    """`<name>.metallib.json`: what a library was made of and by which compiler, or the `reason` why there is none.

    `sources` are contents by name. Deterministic, final newline.
    """
    compiled = library is not None
    record = {
        "library": name,
        "metallib": "compiled" if compiled else "skipped",
        "reason": reason,
        "compiler": tools.compiler,
        "sdk": tools.sdk,
        "sha256": hashlib.sha256(library).hexdigest() if library is not None else "",
        "sources": [
            {
                "source": source,
                "entry": how.entry,
                "source_sha256": hashlib.sha256(text).hexdigest(),
                "language": how.language,
                "required_os": how.required_os,
                "math_flags": how.math_flags,
                "debug": how.debug,
                "compiled_by_apple": compiled,
            }
            for source, (text, how) in sources.items()
        ],
        "run_on_hardware": False,
    }
    return (json.dumps(record, indent=2) + "\n").encode()


def refuse_equal_kernels(entries: Mapping[str, str]) -> None:
    """LoweringError when two sources have kernels of one name: a library holds a name once."""
    first: dict[str, str] = {}
    problems = []
    for source, entry in entries.items():
        if entry in first:
            what = f"`{first[entry]}` and `{source}` both have the kernel `{entry}`, and a library holds it once"
            problems.append(
                Problem(
                    what,
                    hint='name one with @tile.kernel(name="..."); a function that makes the kernel can take the name',
                    rule="equal-kernels",
                )
            )
        first.setdefault(entry, source)
    if problems:
        raise LoweringError(problems)


def executed(command: Sequence[str], folder: Path = Path("/")) -> tuple[int, str, str]:
    """Status 127 for a program that cannot be started."""
    try:
        done = subprocess.run(
            list(command), capture_output=True, encoding="utf-8", errors="replace", check=False, cwd=folder
        )
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout, done.stderr


def _quoted(said: str) -> str:
    """The first line that a tool said, in brackets."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return f" ({first})" if first else ""
