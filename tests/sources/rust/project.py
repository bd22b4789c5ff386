"""A small Rust project on disk, read and compiled by the real rustc the way a build does it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sources.project import write
from tilewright.device.ltoir import make_ltoir
from tilewright.device.workers import Workers
from tilewright.exports.model import TileExport
from tilewright.sources.rust.front_end import read_rust_file, translation_unit
from tilewright.sources.source import Source, SourceError
from tilewright.toolchain.toolkit import Toolkit

USE = "use cuda_device::tile_export;\n"
TILE = "#[tile_export(tile_shape = 128)]\n"
RELU = f"{USE}{TILE}pub fn relu(x: f32) -> f32 {{ x.max(0.0) }}\n"
SPEC = """\
use cuda_device::{tile_export, warp};

/// Elementwise `max(x, 0)`.
#[tile_export(tile_shape = 128)]
pub fn relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}

/// Scale a tile in place. The cuTile side knows it as `scale_in_place`.
#[tile_export(
    tile_shape = 128,
    name = "scale_in_place",
    symbol = "scale_in_place_impl"
)]
pub fn scale(x: &mut f32, factor: f32) {
    *x *= factor;
}

/// Sum over the 32 lanes of each warp; every lane gets the warp total.
#[tile_export(tile_shape = 128, sync = "warp")]
pub fn warp_sum(x: f32) -> f32 {
    let mut total = x;
    let mut offset = 16;
    while offset > 0 {
        total += warp::shuffle_xor_f32_sync(u32::MAX, total, offset);
        offset /= 2;
    }
    total
}
"""


def read(root: Path, name: str = "k.rs", **options: Any) -> Source:
    """The source of that name in the project."""
    return read_rust_file(root / name, name=name, root=root, library="sample", **options)


def source_of(root: Path, text: str, **options: Any) -> Source:
    """A text as a source."""
    return read(write(root, {"k.rs": text}), **options)


def exports_of(root: Path, text: str, **options: Any) -> tuple[TileExport, ...]:
    """The exports of a text."""
    return source_of(root, text, **options).exports.exports


def refusal(root: Path, name: str = "k.rs", **options: Any) -> str:
    """All that a user sees of a source that is refused."""
    with pytest.raises(SourceError) as caught:
        read(root, name, **options)
    return str(caught.value)


def ltoir(source: Source, arch: str, toolkit: Toolkit, workers: Workers) -> bytes:
    """Device code of a source, its signatures checked."""
    module = translation_unit(source.device_text, origin="k.rs", root=Path())
    return make_ltoir(module, source.exports, arch=arch, toolkit=toolkit, workers=workers)


def environment(**changes: str) -> dict[str, str]:
    """The environment of the tests with some variables changed."""
    return {**os.environ, **changes}
