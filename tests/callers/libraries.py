"""Libraries that the tests of this room are made with: sources, their front-end results, LTOIR and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.callers.bundle import Bundle
from tilewright.callers.oracle.reference import Reference
from tilewright.callers.verification import make_bundle
from tilewright.device.ltoir import make_ltoir
from tilewright.device.module import DeviceModule
from tilewright.device.workers import Workers
from tilewright.exports.model import ExportSet
from tilewright.sources.cuda.includes import translation_unit
from tilewright.sources.front_end import read_source
from tilewright.toolchain.toolkit import Toolkit

SPECIFICATION = """\
[[tile_export(tile_shape = 128)]] __device__ float relu(float x) { return x > 0.0f ? x : 0.0f; }

[[tile_export(tile_shape = 128, name = "scale_in_place", symbol = "scale_in_place_impl")]]
__device__ void scale(float& x, float factor) { x *= factor; }

[[tile_export(tile_shape = 128, sync = "warp")]] __device__ float warp_sum(float x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}
"""
"""The three exports of the specification."""


@dataclass(frozen=True)
class Library:
    """Exports and device code of one source."""

    exports: ExportSet
    module: DeviceModule

    def changed(self, old: str, new: str) -> Library:
        """The same with another device text; the text to change must be there once."""
        assert self.module.text.count(old) == 1, f"{old!r} is there {self.module.text.count(old)} times"
        return replace(self, module=replace(self.module, text=self.module.text.replace(old, new)))


def cuda_library(folder: Path, text: str, name: str = "sample") -> Library:
    """The library of a CUDA C++ source that is written to `folder`."""
    file = folder / f"{name}.cu"
    file.write_text(text)
    source = read_source(file, root=folder, library=name)
    return Library(source.exports, translation_unit(source.device_text, origin=file.name, root=folder))


def ltoir_of(library: Library, arch: str, toolkit: Toolkit, workers: Workers) -> bytes:
    """The library's device code."""
    return make_ltoir(library.module, library.exports, arch=arch, toolkit=toolkit, workers=workers)


def bundle_of(
    library: Library,
    toolkit: Toolkit,
    workers: Workers,
    compiler: str = "",
    references: Mapping[str, Reference] | None = None,
    *,
    arch: str = "sm_90",
    ltoir: bytes | None = None,
) -> Bundle:
    """The bundle of a library, its own LTOIR when none is given."""
    return make_bundle(
        library.exports,
        ltoir_of(library, arch, toolkit, workers) if ltoir is None else ltoir,
        library.module,
        name="sample.ltoir",
        arch=arch,
        seed=7,
        toolkit=toolkit,
        workers=workers,
        compiler=compiler,
        references=references,
    )
