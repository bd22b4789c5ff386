"""The lines of the specification, letter for letter."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from library.samples import THREE, elementwise
from tilewright.exports.model import ExportSet
from tilewright.library.messages import left_out, skipped, written_summary, written_to
from tilewright.toolchain.toolkit import Toolkit, resolve

FILES = {
    "interface": Path("b/relu.iface.tilebc"),
    "implementation": Path("b/relu.impl.tilebc"),
    "ltoir": Path("b/relu.ltoir"),
    "library": Path("b/relu.tilelib"),
}
COMMAND = (
    "On CUDA 13.5 or newer, make the library from the written files with:\n"
    "  tileiras --preview-create-tile-lib --preview-interface=b/relu.iface.tilebc "
    "--preview-implementation=b/relu.impl.tilebc --preview-implementation=b/relu.ltoir -o b/relu.tilelib"
)


def test_the_summary_line() -> None:
    assert written_summary(THREE, (13, 5)) == (
        "✓ Tile library descriptions written: 3 export(s), Tile IR 13.5 with the preview tag"
    )


def test_the_line_after_success() -> None:
    assert written_to(Path("b/relu.tilelib")) == "Tile library written to b/relu.tilelib"


def test_the_line_about_exports_without_a_size() -> None:
    mixed = ExportSet(
        "m", (elementwise("relu_any", tile_shape=None), *THREE.exports, elementwise("warp_sum_any", tile_shape=None))
    )
    assert left_out(THREE) == ""
    assert left_out(mixed) == (
        "Left out of the static library: `relu_any`, `warp_sum_any` (no tile_shape, so the call supplies the extent); "
        "`tile_shapes=[...]` or `provider=1` ships them"
    )


def test_a_skip_for_an_old_assembler_is_the_text_of_the_specification(toolkit: Toolkit) -> None:
    assert toolkit.assembler is not None
    old = replace(
        toolkit.assembler,
        path=Path("/usr/local/cuda/bin/tileiras"),
        bytecode_versions=((13, 1), (13, 2), (13, 3), (13, 4)),
    )
    assert skipped(replace(toolkit, assembler=old), **FILES) == (
        "Tile library skipped: /usr/local/cuda/bin/tileiras lists bytecode versions 13.1, 13.2, 13.3, 13.4; "
        "the descriptions need 13.5 or newer\n"
        "The installed tileiras cannot create tile libraries: the descriptions are Tile IR public-preview content, "
        "which exists from bytecode 13.5 on and needs the CUDA 13.5 or newer assembler.\n" + COMMAND
    )


def test_a_skip_for_an_assembler_that_lists_nothing(toolkit: Toolkit, tmp_path: Path) -> None:
    script = tmp_path / "tileiras"
    script.write_text('#!/bin/sh\n[ "$1" = --list-versions ] && exit 1\necho "release 13.0, V13.0.1"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    text = skipped(resolve({**os.environ, "CUTILE_TILEIRAS_PATH": str(script)}), **FILES)
    first = f"Tile library skipped: {script} lists no bytecode version; the descriptions need 13.5 or newer"
    assert text.splitlines()[0] == first


def test_a_skip_without_any_assembler_says_what_to_install() -> None:
    nothing = resolve({"PATH": ""}, among=())
    assert skipped(nothing, **FILES) == (
        "Tile library skipped: no tileiras was found; the descriptions need one that lists bytecode version "
        "13.5 or newer\n"
        "To install one: pip install 'scons-tilelib[toolkit]'\n"
        "or install CUDA 13.5 or newer and put its bin folder on PATH (or set CUDA_HOME to it)\n" + COMMAND
    )
