"""The lines a build of a library prints. Spec: Building the library; The tileiras requirement."""

from __future__ import annotations

import shlex
from pathlib import Path

from tilewright.bytecode.module import dotted
from tilewright.exports.model import ExportSet
from tilewright.library.static import pack_command
from tilewright.toolchain.assembler import FIRST_PACKING_VERSION
from tilewright.toolchain.toolkit import Toolkit, missing

SKIPPED = "Tile library skipped: "


def written_summary(exports: ExportSet, version: tuple[int, int]) -> str:
    """The summary line; `exports` are those that the descriptions hold."""
    count = len(exports.exports)
    return f"✓ Tile library descriptions written: {count} export(s), Tile IR {dotted(version)} with the preview tag"


def written_to(library: Path) -> str:
    """The line a script matches after success."""
    return f"Tile library written to {library}"


def left_out(exports: ExportSet, *, sizes: str = "tile_shapes=[...]", provider: str = "provider=1") -> str:
    """The line about exports of which no size is known; empty when there is none.

    `sizes` and `provider` are how the caller's user lists sizes and asks for the provider form.
    """
    if not (unlisted := exports.unlisted()):
        return ""
    names = ", ".join(f"`{export.name}`" for export in unlisted)
    return (
        f"Left out of the static library: {names} (no tile_shape, so the call supplies the extent); "
        f"`{sizes}` or `{provider}` ships them"
    )


def skipped(toolkit: Toolkit, *, interface: Path, implementation: Path, ltoir: Path, library: Path) -> str:
    """Why there is no library, then the command that makes it from the written files on a newer toolkit."""
    oldest = dotted(FIRST_PACKING_VERSION)
    command = shlex.join(pack_command(toolkit, interface, implementation, ltoir, library))
    return f"{_reason(toolkit)}\nOn CUDA {oldest} or newer, make the library from the written files with:\n  {command}"


def skipped_provider(toolkit: Toolkit) -> str:
    """Why there is no library in the provider form, which is compiled and packed in one step on a newer toolkit."""
    return f"{_reason(toolkit)}\nOn CUDA {dotted(FIRST_PACKING_VERSION)} or newer, build it again"


def _reason(toolkit: Toolkit) -> str:
    oldest = dotted(FIRST_PACKING_VERSION)
    if assembler := toolkit.assembler:
        versions = ", ".join(dotted(version) for version in assembler.bytecode_versions)
        listed = f"lists bytecode versions {versions}" if versions else "lists no bytecode version"
        lines = [
            f"{SKIPPED}{assembler.path} {listed}; the descriptions need {oldest} or newer",
            "The installed tileiras cannot create tile libraries: the descriptions are Tile IR public-preview content, "
            f"which exists from bytecode {oldest} on and needs the CUDA {oldest} or newer assembler.",
        ]
    else:
        lines = [
            f"{SKIPPED}no tileiras was found; the descriptions need one that lists bytecode version {oldest} or newer",
            "To install one: " + missing(toolkit, "assembler").hint,
        ]
    return "\n".join(lines)
