"""Apple's offline compiler: the commands for an artifact, and why they cannot run here. Only macOS has it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tilewright.lowering.metal.artifact import MetalArtifact

XCRUN = ("xcrun", "-sdk", "macosx")
Run = Callable[[Sequence[str]], tuple[int, str]]
"""Runs a command: its exit status and what it printed."""


def air_command(artifact: MetalArtifact, source: Path, air: Path) -> list[str]:
    """`.metal` to `.air`: the artifact's language version, deployment target and math flags; always explicit, since the
    compiler's default is fast math."""
    language = f"-std=metal{artifact.language}"
    system = f"-mmacosx-version-min={artifact.required_os}.0"
    debug = ["-gline-tables-only", "-frecord-sources"] if artifact.debug else []
    return [*XCRUN, "metal", language, system, "-O2", *artifact.math_flags, *debug, "-c", str(source), "-o", str(air)]


def library_command(airs: Sequence[Path], library: Path) -> list[str]:
    """`.air` files to one `.metallib`."""
    return [*XCRUN, "metallib", *map(str, airs), "-o", str(library)]


def skip_reason(artifact: MetalArtifact, system: str, run: Run | None = None) -> str:
    """Why no library can be made of this artifact, "" when one can; `system` is what `platform.system()` gives.

    A skip is not a pass: it goes into the build's output, and is an error where the library is required.
    """
    execute = run or executed
    if system != "Darwin":
        return "metal: MSL written; no metallib: the Metal compiler exists only on macOS"
    if execute([*XCRUN, "--find", "metal"])[0]:
        return "metal: Command Line Tools only; install Xcode, then run xcode-select"
    if execute(["xcrun", "metal", "--version"])[0]:
        return "metal: the Metal compiler is a stub; run xcodebuild -downloadComponent MetalToolchain"
    status, version = execute([*XCRUN, "--show-sdk-version"])
    major = version.strip().partition(".")[0]
    if status or not major.isdigit() or int(major) < artifact.required_os:
        return (
            f"metal: `{artifact.entry}` needs the macOS {artifact.required_os} SDK, this is {version.strip() or 'none'}"
        )
    return ""


def compiler_identity(run: Run | None = None) -> str:
    """What `metal --version` prints first, for build signatures; call it only where `skip_reason` gave none."""
    status, text = (run or executed)(["xcrun", "metal", "--version"])
    return text.splitlines()[0] if status == 0 and text else "none"


def executed(command: Sequence[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(list(command), capture_output=True, text=True, check=False, cwd="/")
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout
