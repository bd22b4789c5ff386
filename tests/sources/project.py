"""A small project on disk, read and compiled the way a build does it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet, TileExport
from tilewright.sources.cuda.includes import translation_unit
from tilewright.sources.front_end import read_source
from tilewright.sources.source import Source, SourceError
from tilewright.toolchain.toolkit import Toolkit

TILE = "[[tile_export(tile_shape = 128)]]\n"
RELU = f"{TILE}__device__ float relu(float x) {{ return x > 0.0f ? x : 0.0f; }}\n"
SPEC = """\
/// Elementwise `max(x, 0)`.
[[tile_export(tile_shape = 128)]]
__device__ float relu(float x) {
    return x > 0.0f ? x : 0.0f;
}

/// Scale a tile in place. The cuTile side knows it as `scale_in_place`.
[[tile_export(
    tile_shape = 128,
    name = "scale_in_place",
    symbol = "scale_in_place_impl"
)]]
__device__ void scale(float& x, float factor) {
    x *= factor;
}

/**
 * Sum over the 32 lanes of each warp; every lane gets the warp total.
 */
[[tile_export(tile_shape = 128, sync = "warp")]]
__device__ float warp_sum(float x) {
    float total = x;
    for (int offset = 16; offset > 0; offset /= 2) {
        total += __shfl_xor_sync(0xffffffffu, total, offset);
    }
    return total;
}
"""


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes files by their project-relative names; gives the root back."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def read(root: Path, name: str = "k.cu", *include_path: str) -> Source:
    """The source of that name in the project."""
    return read_source(
        root / name, root=root, library="sample", include_path=[root / folder for folder in include_path]
    )


def exports_of(root: Path, text: str) -> tuple[TileExport, ...]:
    """The exports of a text."""
    return read(write(root, {"k.cu": text})).exports.exports


def refusal(root: Path, name: str = "k.cu", *include_path: str) -> str:
    """All that a user sees of a source that is refused."""
    with pytest.raises(SourceError) as caught:
        read(root, name, *include_path)
    return str(caught.value)


def unit(root: Path, name: str = "k.cu", *include_path: str) -> tuple[DeviceModule, ExportSet]:
    """The translation unit of a source, its headers in memory, and its exports."""
    source = read(root, name, *include_path)
    folders = [root / folder for folder in include_path]
    return translation_unit(source.device_text, origin=name, root=root, include_path=folders), source.exports


def ltoir(root: Path, toolkit: Toolkit, workers: Workers, name: str = "k.cu", *include_path: str) -> bytes:
    """Device code of a source by the real compiler, its signatures checked."""
    module, exports = unit(root, name, *include_path)
    return make_ltoir(module, exports, arch="sm_120", toolkit=toolkit, workers=workers)
